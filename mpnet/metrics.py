"""Functions of R: R[t, i] is the accuracy on task i after training task t, NaN for i > t."""

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def acc(R: Matrix) -> float:
    """Mean accuracy over all tasks after the last one (Eq. 14)."""
    return float(R[-1].mean())


def bwt(R: Matrix) -> float:
    """Backward transfer as in the paper: mean over all T tasks of R[T, i] - R[i, i] (Eq. 14)."""
    return float((R[-1] - np.diag(R)).mean())


def mean_diagonal(R: Matrix) -> float:
    """Mean accuracy on each task right after it was trained; equals acc - bwt."""
    return float(np.diag(R).mean())
