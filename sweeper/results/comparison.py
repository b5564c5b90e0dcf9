"""Groups of a sweep side by side, seed by seed: pure functions. Fractions, no percent signs."""

import math
import statistics
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, TypeVar

from sweeper.config.groups import Group, are_one_apart, groups_of
from sweeper.results.facts import Facts
from sweeper.results.ranking import by_group, ranked
from sweeper.results.records import TrialRecord
from sweeper.results.tested import Tested

CONFIDENCE = 0.95
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Difference:
    """A mean over pairs of runs with the same seed, and its interval by Student's t.

    Args:
        half_width: of the interval; None for a single pair, which tells nothing of the spread.
        n: pairs.
    """

    mean: float
    half_width: float | None
    n: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval, if there is one."""
        if self.half_width is None:
            return None
        return self.mean - self.half_width, self.mean + self.half_width

    @property
    def is_clear(self) -> bool:
        """Whether the interval is clear of zero."""
        return self.half_width is not None and abs(self.mean) > self.half_width


@dataclass(frozen=True)
class Member:
    """A group, and what stands for it.

    Args:
        trial: its best on validation data; None if none has finished.
        rerun: of the group's best trial, never of the one that the test split likes best.
        n_trials: that have finished.
    """

    group: Group
    trial: TrialRecord | None
    rerun: Tested | None
    n_trials: int

    @property
    def missing(self) -> str:
        """Why it cannot be compared; empty if it can."""
        if self.trial is None:
            return "no trial has finished"
        return "" if self.rerun else f"trial {self.trial.number} has no test result"

    @property
    def settings(self) -> dict[str, Any]:
        """The values that are not those of the group."""
        values = self.trial.values if self.trial else {}
        return {path: values[path] for path in values if path not in dict(self.group)}


@dataclass(frozen=True)
class Pair:
    """The first group less the second."""

    first: Group
    second: Group
    acc: Difference
    bwt: Difference


@dataclass(frozen=True)
class Comparison:
    """The groups of a sweep, side by side.

    Args:
        members: in the order of the file.
        best: of groups with test results, by validation data, which leaves the test split unused.
        pairs: the best against all others, then those that differ in one value.
    """

    members: tuple[Member, ...] = ()
    best: Group | None = None
    pairs: tuple[Pair, ...] = ()

    @property
    def n_intervals(self) -> int:
        """The number of intervals, of both metrics."""
        values = [value for pair in self.pairs for value in (pair.acc, pair.bwt)]
        return sum(value.interval is not None for value in values)


def paired(first: Mapping[Key, float], second: Mapping[Key, float]) -> Difference:
    """The first less the second over the runs that both have, such as those with a seed.

    Raises:
        ValueError: there is no such run.
    """
    differences = [first[seed] - second[seed] for seed in first if seed in second]
    if not differences:
        raise ValueError(f"a run must be in both, but got {list(first)} and {list(second)}")
    mean, n = statistics.fmean(differences), len(differences)
    if n == 1:
        return Difference(mean, None, n)
    error = statistics.stdev(differences, mean) / math.sqrt(n)
    return Difference(mean, _quantile(n - 1) * error, n)


def _quantile(freedom: int) -> float:
    """The quantile of Student's t that a deviate exceeds in size in one of twenty cases."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # a second: only if needed

    return float(stdtrit(freedom, (1 + CONFIDENCE) / 2))


def compare(facts: Facts) -> Comparison:
    """The groups that `select.each` asks for; nothing without it."""
    each = facts.sweep.select.each
    if not each:
        return Comparison()
    trials = by_group(facts.ranked, each)
    groups = groups_of(facts.sweep.space, each)
    members = [_member(facts, group, trials.get(group, ())) for group in groups]
    tested = [member for member in members if member.rerun]
    places = {trial.number: place for place, trial in enumerate(facts.ranked)}
    best = min(tested, key=lambda m: places[m.trial.number] if m.trial else 0, default=None)
    pairs = tuple(_pairs(best, tested)) if best else ()
    return Comparison(tuple(members), best.group if best else None, pairs)


def _member(facts: Facts, group: Group, trials: Sequence[TrialRecord]) -> Member:
    best = next(iter(ranked(trials, facts.sweep.select_objective)), None)
    reruns = {rerun.configuration: rerun for rerun in facts.tests}
    return Member(group, best, reruns.get(best.number) if best else None, len(trials))


def _pairs(best: Member, tested: Sequence[Member]) -> Iterator[Pair]:
    others = [member for member in tested if member is not best]
    chosen = [
        *((best, other) for other in others),
        *((a, b) for a, b in combinations(others, 2) if are_one_apart(a.group, b.group)),
    ]
    for first, second in chosen:
        a, b = first.rerun, second.rerun
        if a and b and set(a.seeds) & set(b.seeds):
            differences = (paired(a.by_seed[name], b.by_seed[name]) for name in ("acc", "bwt"))
            yield Pair(first.group, second.group, *differences)
