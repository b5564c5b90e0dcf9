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


def bwt_gem(R: Matrix) -> float:
    """Backward transfer as in GEM: the same sum over T - 1, since the last task cannot change."""
    n_tasks = len(R)
    return bwt(R) * n_tasks / (n_tasks - 1) if n_tasks > 1 else 0.0


def forgetting(R: Matrix) -> float:
    """Mean over all but the last task of the best accuracy there ever was less the last one."""
    if len(R) == 1:
        return 0.0
    best = np.array([R[i:-1, i].max() for i in range(len(R) - 1)])
    return float((best - R[-1, :-1]).mean())


def mean_diagonal(R: Matrix) -> float:
    """Mean accuracy on each task right after it was trained; equals acc - bwt."""
    return float(np.diag(R).mean())


def summary(R: Matrix) -> dict[str, float]:
    """All of them by name."""
    return {f.__name__: f(R) for f in (acc, bwt, bwt_gem, forgetting, mean_diagonal)}
