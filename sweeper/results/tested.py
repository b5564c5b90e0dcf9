"""What reruns came to on the test split, by configuration: pure functions of records."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Tested:
    """One configuration on the test split, over several seeds, on the class order it was tuned on.

    Args:
        configuration: number of the search trial.
        search: the search trial, if it is known.
        seeds: of the reruns that finished.
        by_seed: "acc" or "bwt" -> seed -> what it reached.
        R: mean over the reruns that finished.
        run: of the first rerun that finished, as it was resolved.
        n_failed: reruns that did not finish.
    """

    configuration: int
    search: TrialRecord | None
    acc: Measured
    bwt: Measured
    seeds: tuple[int, ...]
    by_seed: Mapping[str, Mapping[int, float]]
    R: Matrix
    run: Mapping[str, Any]
    n_failed: int


@dataclass(frozen=True)
class OrderTested:
    """One configuration on the test split, over class orders that the search has not seen.

    Args:
        configuration: number of the search trial.
        search: the search trial, if it is known.
        seeds: class order -> seed, of the reruns that finished.
        n_failed: reruns that did not finish.
    """

    configuration: int
    search: TrialRecord | None
    acc: Measured
    bwt: Measured
    seeds: Mapping[int, int]
    n_failed: int


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
    searched = {trial.number: trial for trial in trials}
    groups = by_configuration(tests)
    return [
        _tested(number, searched.get(number), group)
        for number, group in groups.items()
        if finished(group)
    ]


def order_tested(trials: Sequence[TrialRecord], tests: Sequence[RerunRecord]) -> list[OrderTested]:
    """What finished reruns on unseen class orders came to, by configuration."""
    searched = {trial.number: trial for trial in trials}
    groups = by_configuration(tests)
    return [
        _order_tested(number, searched.get(number), group)
        for number, group in groups.items()
        if finished(group)
    ]


def _tested(number: int, search: TrialRecord | None, group: Sequence[RerunRecord]) -> Tested:
    done = finished(group)
    by_seed = {
        name: {record.rerun.seed: record.metrics[name] for record in done}
        for name in ("acc", "bwt")
    }
    return Tested(
        configuration=number,
        search=search,
        acc=measured(by_seed["acc"].values()),
        bwt=measured(by_seed["bwt"].values()),
        seeds=tuple(by_seed["acc"]),
        by_seed=by_seed,
        R=mean_matrix([record.R[0] for record in done if record.R]),
        run=done[0].run,
        n_failed=sum(record.state == "failed" for record in group),
    )


def _order_tested(
    number: int, search: TrialRecord | None, group: Sequence[RerunRecord]
) -> OrderTested:
    done = finished(group)
    pairs = [(record.rerun.class_order, record.rerun.seed) for record in done]
    return OrderTested(
        configuration=number,
        search=search,
        acc=measured(record.metrics["acc"] for record in done),
        bwt=measured(record.metrics["bwt"] for record in done),
        seeds={order: seed for order, seed in pairs if order is not None},
        n_failed=sum(record.state == "failed" for record in group),
    )
