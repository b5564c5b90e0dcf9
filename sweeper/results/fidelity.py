"""Whether a short budget orders configurations as a long one does: pure functions of facts."""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sweeper.errors import SweepError
from sweeper.results.facts import Facts
from sweeper.results.records import TrialRecord

_FEWEST = 4  # configurations, for a correlation to have an interval


@dataclass(frozen=True)
class Both:
    """A configuration with both budgets, by ACC on validation data.

    Args:
        short_place: counted from 1; equal ones share the mean of theirs.
        long_place: likewise.
    """

    values: Mapping[str, Any]
    short: float
    long: float
    short_place: float
    long_place: float


@dataclass(frozen=True)
class Fidelity:
    """The two orders.

    Args:
        pairs: in the order of the short budget.
        correlation: Spearman's; None where one order is of equal ones only.
        interval: of 95%, by Fisher's transformation.
        n_unpaired: finished configurations that only one budget has.
    """

    pairs: tuple[Both, ...]
    correlation: float | None
    interval: tuple[float, float] | None
    n_unpaired: int

    @property
    def winner(self) -> Both:
        """The best with the short budget."""
        return self.pairs[0]

    @property
    def long_winner(self) -> Both:
        """The best with the long one."""
        return max(self.pairs, key=lambda one: one.long)

    @property
    def loss(self) -> float:
        """What is lost with the long budget by choosing with the short one."""
        return self.long_winner.long - self.winner.long


def fidelity(short: Facts, long: Facts) -> Fidelity:
    """Compare the configurations that have finished with both budgets.

    Raises:
        SweepError: fewer than two have.
    """
    first, second = _by_values(short.ranked), _by_values(long.ranked)
    common = [key for key in first if key in second]
    if len(common) < 2:
        raise SweepError(
            f"{short.sweep.name} and {long.sweep.name}: at least two configurations must have "
            f"finished in both, but {len(common)} of {len(first)} and {len(second)} have."
        )
    accs = [[_acc(found[key]) for key in common] for found in (first, second)]
    places = [_places(values) for values in accs]
    pairs = [
        Both(first[key].values, *rest) for key, *rest in zip(common, *accs, *places, strict=True)
    ]
    correlation = _correlation(*places)
    return Fidelity(
        tuple(sorted(pairs, key=lambda one: -one.short)),
        correlation,
        _interval(correlation, len(common)),
        len(first) + len(second) - 2 * len(common),
    )


def _by_values(trials: Sequence[TrialRecord]) -> Mapping[str, TrialRecord]:
    return {json.dumps(trial.values, sort_keys=True): trial for trial in trials}


def _acc(trial: TrialRecord) -> float:
    return trial.metrics["acc"]


def _places(values: Sequence[float]) -> list[float]:
    """1 for the highest; equal values share the mean of their places."""
    above = [sum(other > value for other in values) for value in values]
    return [n + (1 + values.count(value)) / 2 for n, value in zip(above, values, strict=True)]


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(set(first)) == 1 or len(set(second)) == 1:
        return None
    return statistics.correlation(first, second)


def _interval(correlation: float | None, n: int) -> tuple[float, float] | None:
    """Fisher's, with the variance of ranks (Bonett and Wright); none for perfect orders."""
    if correlation is None or n < _FEWEST or abs(correlation) > 1 - 1e-12:
        return None
    half = 1.959964 * math.sqrt((1 + correlation**2 / 2) / (n - 3))
    centre = math.atanh(correlation)
    return math.tanh(centre - half), math.tanh(centre + half)
