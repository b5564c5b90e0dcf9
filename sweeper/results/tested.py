"""What reruns came to on the test split, by configuration: pure functions of records."""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sweeper.results.ranking import finished
from sweeper.results.records import Matrix, RerunRecord, TrialRecord


@dataclass(frozen=True)
class Measured:
    """A mean over runs with its sample deviation (over n - 1), which one run does not have."""

    mean: float
    deviation: float | None
    n: int


@dataclass(frozen=True, kw_only=True)
class AnyTested:
    """One configuration on the test split.

    Args:
        configuration: number of the search trial.
        search: the search trial, if it is known.
        n_failed: reruns that did not finish.
    """

    configuration: int
    search: TrialRecord | None
    acc: Measured
    bwt: Measured
    n_failed: int


@dataclass(frozen=True, kw_only=True)
class Tested(AnyTested):
    """One configuration on the test split, over several seeds, on the class order it was tuned on.

    Args:
        by_seed: "acc" or "bwt" -> seed -> what it reached.
        R: mean over the reruns that finished.
        run: of the first rerun that finished, as it was resolved.
    """

    by_seed: Mapping[str, Mapping[int, float]]
    R: Matrix
    run: Mapping[str, Any]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the reruns that finished."""
        return tuple(self.by_seed["acc"])


@dataclass(frozen=True, kw_only=True)
class OrderTested(AnyTested):
    """One configuration on the test split, over class orders that the search has not seen.

    Args:
        seeds: class order -> seed, of the reruns that finished.
    """

    seeds: Mapping[int, int]


def measured(values: Iterable[float]) -> Measured:
    """Mean and sample deviation."""
    numbers = list(values)
    deviation = statistics.stdev(numbers) if len(numbers) > 1 else None
    return Measured(statistics.fmean(numbers), deviation, len(numbers))


def mean_matrix(matrices: Sequence[Matrix]) -> Matrix:
    """Mean of some matrices, cell by cell; blank where any is."""
    return [
        [None if None in cells else statistics.fmean(cells) for cells in zip(*rows, strict=True)]
        for rows in zip(*matrices, strict=True)
    ]


def by_configuration(tests: Sequence[RerunRecord]) -> dict[int, list[RerunRecord]]:
    """The reruns of each trial that has any, by its number."""
    groups: dict[int, list[RerunRecord]] = {}
    for record in tests:
        groups.setdefault(record.rerun.configuration, []).append(record)
    return groups


def tested(trials: Sequence[TrialRecord], tests: Sequence[RerunRecord]) -> list[Tested]:
    """What finished reruns came to, by configuration."""
    return [
        Tested(
            **shared,
            by_seed={
                name: {record.rerun.seed: record.metrics[name] for record in done}
                for name in ("acc", "bwt")
            },
            R=mean_matrix([record.R[0] for record in done if record.R]),
            run=done[0].run,
        )
        for done, shared in _by_finished(trials, tests)
    ]


def order_tested(trials: Sequence[TrialRecord], tests: Sequence[RerunRecord]) -> list[OrderTested]:
    """What finished reruns on unseen class orders came to, by configuration."""
    return [
        OrderTested(
            **shared,
            seeds={
                one.rerun.class_order: one.rerun.seed
                for one in done
                if one.rerun.class_order is not None
            },
        )
        for done, shared in _by_finished(trials, tests)
    ]


def _by_finished(
    trials: Sequence[TrialRecord], tests: Sequence[RerunRecord]
) -> Iterator[tuple[list[RerunRecord], dict[str, Any]]]:
    """The finished reruns of each configuration that has any, and what is known of all alike."""
    searched = {trial.number: trial for trial in trials}
    for number, group in by_configuration(tests).items():
        if done := finished(group):
            shared = {
                "configuration": number,
                "search": searched.get(number),
                "acc": measured(record.metrics["acc"] for record in done),
                "bwt": measured(record.metrics["bwt"] for record in done),
                "n_failed": sum(record.state == "failed" for record in group),
            }
            yield done, shared
