"""How selectively a method protects: the freedom of all weights, in a few numbers and in words.

The freedom of a weight is 0 where it is held and 1 where it moves as if nothing protected it. A
method that gives all weights the same freedom selects nothing, whatever that freedom is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mpnet.metrics import Vector

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
HELD, FREE = 0.1, 0.9  # below, above: the freedom from which a weight counts as one or the other
_ALIKE = 0.1  # between the outer quantiles: so close that all weights are as good as equal
_FROZEN = 0.95  # held: so many that hardly anything is left to learn with
_LOCKSTEP = 1.5  # between the outer quantiles of the variances: so close that they tell nothing


class Words(NamedTuple):
    """What a method calls itself, and what it means if it is not selective.

    Args:
        label: the method's name as people write it.
        if_alike: what follows if all weights have about the same freedom; "{free}" stands for
            that freedom and "{held}" for what is missing of it, in percent.
        if_frozen: what follows if nearly all weights are held.
    """

    label: str
    if_alike: str
    if_frozen: str


class Summary(NamedTuple):
    """The freedom of many weights in a few numbers.

    Args:
        parameters: how many weights there are.
        held: share of the weights with a freedom below `HELD`.
        free: share of the weights with a freedom above `FREE`.
        selectivity: Gini coefficient of the freedom: 0 where all are equal, near 1 where a few
            weights have all of it.
        quantiles: of the freedom, at `QUANTILES`.
    """

    parameters: int
    held: float
    free: float
    selectivity: float
    quantiles: tuple[float, ...]

    @property
    def is_alike(self) -> bool:
        """Whether all weights are as good as equal."""
        return self.quantiles[-1] - self.quantiles[0] < _ALIKE

    @property
    def is_frozen(self) -> bool:
        """Whether nearly all weights are held."""
        return self.held > _FROZEN

    def shares(self) -> dict[str, float]:
        """The three numbers to remember."""
        return {"held": self.held, "free": self.free, "selectivity": self.selectivity}

    def metrics(self) -> dict[str, float]:
        """The shares and the quantiles, by names fit for a record."""
        pairs = zip(QUANTILES, self.quantiles, strict=True)
        return {**self.shares(), **{f"freedom_q{100 * q:g}": value for q, value in pairs}}

    def warning(self, words: Words) -> str | None:
        """What is wrong with such a protection, if anything is."""
        middle = self.quantiles[len(QUANTILES) // 2]
        found = []
        if self.is_alike and not (self.is_frozen and self.free):  # the free few are not alike
            found.append(words.if_alike.format(free=percent(middle), held=percent(1 - middle)))
        if self.is_frozen:
            found.append(f"{percent(self.held)} of the weights held: {words.if_frozen}")
        return f"{words.label}: {'; '.join(found)}" if found else None


class Selectivity(NamedTuple):
    """How selectively a method protects after a task.

    Args:
        label: the method's name as people write it.
        warning: one sentence where it does not select, else None.
        variance_ratio: between the 95 % and the 5 % quantile of the weights' variances. A scale
            that is stretched to [0, 1] makes any variances look selective; this tells.
        trunk: summary of all weights.
        layers: summary of each layer's weights by its name.
    """

    label: str
    warning: str | None
    variance_ratio: float
    trunk: Summary
    layers: Mapping[str, Summary]

    def line(self, t: int) -> str:
        """What people read after task `t`, counted from 0."""
        held, free = percent(self.trunk.held), percent(self.trunk.free)
        return (
            f"{self.label} after task {t + 1}: {held} of the weights held, {free} free, "
            f"selectivity {self.trunk.selectivity:.2f}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same in types that JSON and checkpoints know."""
        layers = {name: _plain(one) for name, one in self.layers.items()}
        return {**self._asdict(), "trunk": _plain(self.trunk), "layers": layers}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Selectivity":
        """What `as_dict` has made, back again."""
        layers = {name: _restored(one) for name, one in content["layers"].items()}
        return cls(**{**content, "trunk": _restored(content["trunk"]), "layers": layers})


def selectivity_of(
    freedom: Vector, var: Vector, layers: Sequence[tuple[str, int]], words: Words
) -> Selectivity:
    """How selectively weights are protected, together and by layer.

    Args:
        freedom: of every weight, one flat vector.
        var: the posterior variance of every weight, one flat vector.
        layers: names and sizes of the parts of both vectors, in order; parts of one name are one.
        words: what the method calls itself and what it means.
    """
    sizes = [size for _, size in layers]
    if sum(sizes) != len(freedom):
        raise ValueError(
            f"layers: their sizes must add up to the {len(freedom)} values of the freedom, "
            f"but got {sum(sizes)}; give every part of the vector."
        )
    parts: dict[str, list[Vector]] = {}
    for (name, _), part in zip(layers, np.split(freedom, np.cumsum(sizes)[:-1]), strict=True):
        parts.setdefault(name, []).append(part)
    trunk = summary(freedom)
    by_layer = {name: summary(np.concatenate(found)) for name, found in parts.items()}
    low, high = np.quantile(var, [QUANTILES[0], QUANTILES[-1]])
    ratio = float(high / max(low, np.finfo(np.float64).tiny))  # JSON has no infinity
    return Selectivity(words.label, _warning(trunk, ratio, words), ratio, trunk, by_layer)


def _warning(trunk: Summary, variance_ratio: float, words: Words) -> str | None:
    """The worse of what can be wrong: variances that tell nothing, or what is made of them."""
    if variance_ratio < _LOCKSTEP:
        return (
            f"{words.label}: 90 % of the variances lie within a factor of {variance_ratio:.3g}: "
            "they tell no weights apart, whatever is made of them"
        )
    return trunk.warning(words)


def summary(freedom: Vector) -> Summary:
    """The freedom of some weights in a few numbers; it is sorted once for all of them."""
    ascending = np.sort(freedom)
    if not (len(ascending) and ascending[0] >= 0 and ascending[-1] <= 1):  # NaN is sorted last
        ends = ascending[[0, -1]].tolist() if len(ascending) else "none"
        raise ValueError(
            f"freedom: there must be values, all in [0, 1], but got {ends}; "
            "divide by the highest rate or KL weight."
        )
    n = len(ascending)
    n_held = int(np.searchsorted(ascending, HELD, side="left"))
    n_free = n - int(np.searchsorted(ascending, FREE, side="right"))
    return Summary(n, n_held / n, n_free / n, gini(ascending), _quantiles(ascending))


def gini(ascending: Vector) -> float:
    """Gini coefficient of values >= 0 in ascending order: the mean difference over twice the mean.

    By ranks i from 1 the double sum over all pairs is a single one, 2 sum of i x_i.
    """
    n, total = len(ascending), float(ascending.sum(dtype=np.float64))
    if total == 0:
        return 0.0  # all values are equal
    by_rank = float(np.arange(1, n + 1, dtype=np.float64) @ ascending.astype(np.float64))
    return max(0.0, 2 * by_rank / (n * total) - (n + 1) / n)  # rounding may leave less than 0


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f} %"


def _quantiles(ascending: Vector) -> tuple[float, ...]:
    """Quantiles interpolated between neighbours, as NumPy does, which would sort again."""
    places = np.array(QUANTILES) * (len(ascending) - 1)
    below = places.astype(int)
    above = np.minimum(below + 1, len(ascending) - 1)
    low, high = ascending[below].astype(np.float64), ascending[above].astype(np.float64)
    return tuple((low + (places - below) * (high - low)).tolist())


def _plain(one: Summary) -> dict[str, Any]:
    return {**one._asdict(), "quantiles": list(one.quantiles)}


def _restored(content: Mapping[str, Any]) -> Summary:
    return Summary(**{**content, "quantiles": tuple(content["quantiles"])})
