"""Rank correlation, with an interval that says how far the drawn examples can be trusted."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata  # type: ignore[import-untyped]

from mpnet.metrics import Vector

_N_RESAMPLES = 500
_TAIL = 0.025  # of the resamples, outside either end of an interval

Array = npt.NDArray[Any]


class Correlation(NamedTuple):
    """Spearman's rank correlation, with a 95 % bootstrap interval; NaN if one side is constant."""

    value: float
    low: float
    high: float


def correlation(x: Vector, y: Vector, seed: int = 0) -> Correlation:
    """Correlation of two columns; examples are drawn again with replacement for the interval."""
    generator = np.random.default_rng(seed)
    chosen = generator.integers(len(x), size=(_N_RESAMPLES, len(x)))
    resampled = spearman(x[chosen], y[chosen])
    low, high = np.nanquantile(resampled, [_TAIL, 1 - _TAIL]) if _any(resampled) else [np.nan] * 2
    return Correlation(float(spearman(x, y)), float(low), float(high))


def spearman(x: Array, y: Array) -> Array:
    """Spearman's correlation over the last dimension; equal values share their mean rank."""
    ranks = [rankdata(values, axis=-1) for values in (x, y)]
    a, b = (r - r.mean(-1, keepdims=True) for r in ranks)
    size = np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    together = np.asarray((a * b).sum(-1))
    return np.divide(together, size, out=np.full_like(together, np.nan), where=size > 0)


def _any(values: Array) -> bool:
    return not np.isnan(values).all()
