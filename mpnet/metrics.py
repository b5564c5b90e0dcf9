"""Functions of R and of predictions.

R[t, i] is the accuracy on task i after training task t, and NaN for i > t.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Vector = npt.NDArray[Any]

_N_BINS = 15


class Evaluation(NamedTuple):
    """How a network does on one task.

    Args:
        accuracy: share of right answers.
        calibration_error: expected difference between confidence and accuracy.
        variance: mean predictive variance of the chosen class; NaN where the network has none.
    """

    accuracy: float
    calibration_error: float
    variance: float


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


class Reliability(NamedTuple):
    """Answers in bins of equal width by their confidence; means are NaN where a bin is empty.

    Args:
        n: answers in each bin.
        confidence: mean confidence of the answers in each bin.
        accuracy: share of right answers in each bin.
    """

    n: Vector
    confidence: Vector
    accuracy: Vector


def reliability(confidence: Vector, is_right: Vector, n_bins: int = _N_BINS) -> Reliability:
    """What a reliability diagram shows."""
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    n = np.bincount(bins, minlength=n_bins)
    sums = (np.bincount(bins, values, n_bins) for values in (confidence, is_right))
    with np.errstate(invalid="ignore"):
        return Reliability(n, *(total / n for total in sums))


def calibration_error(confidence: Vector, is_right: Vector, n_bins: int = _N_BINS) -> float:
    """Expected calibration error: mean over bins of |accuracy - confidence|, weighted by size."""
    found = reliability(confidence, is_right, n_bins)
    gaps = found.n * np.abs(found.accuracy - found.confidence)
    return float(np.nansum(gaps) / len(confidence))


def summary(R: Matrix) -> dict[str, float]:
    """All metrics of R by name."""
    return {f.__name__: f(R) for f in (acc, bwt, bwt_gem, forgetting, mean_diagonal)}
