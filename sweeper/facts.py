"""What a report says, in numbers: pure functions of records. Fractions, no percent signs."""

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sweeper.paper import Cell, departures, matching_cells
from sweeper.ranking import finished, pareto_front, ranked
from sweeper.records import Matrix, Selectivity, TrialRecord
from sweeper.space import with_values
from sweeper.sweep import Sweep

_N_PROTECTED = 3  # of the best trials


@dataclass(frozen=True)
class Measured:
    """A mean over runs with its sample deviation (over n - 1), which one run does not have."""

    mean: float
    deviation: float | None
    n: int


@dataclass(frozen=True)
class Rerun:
    """One configuration on the test split, over several seeds.

    Args:
        configuration: number of the search trial.
        search: that trial, if it is known.
        seeds: of the reruns that finished.
        by_seed: "acc" or "bwt" -> seed -> what it reached.
        R: mean over them.
        cells: of the paper, for this method, measure and benchmark.
        n_failed: reruns that did not finish.
    """

    configuration: int
    search: TrialRecord | None
    acc: Measured
    bwt: Measured
    seeds: tuple[int, ...]
    by_seed: Mapping[str, Mapping[int, float]]
    R: Matrix
    cells: tuple[Cell, ...]
    n_failed: int


@dataclass(frozen=True)
class AfterTask:
    """How selectively weights are protected after a task, over several runs.

    Args:
        task: counted from 0.
        held: share of the weights that are held.
        free: share of those that move as if nothing protected them.
        selectivity: Gini coefficient of the freedom.
        warnings: what the runs in which nothing is selected say of it.
    """

    task: int
    held: Measured
    free: Measured
    selectivity: Measured
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Protected:
    """How selectively a configuration protects, after its first and after its last task.

    Args:
        configuration: number of the search trial.
        split: "validation" for its search trial, "test" for its reruns.
    """

    configuration: int
    split: Literal["validation", "test"]
    first: AfterTask
    last: AfterTask


@dataclass(frozen=True)
class Failure:
    """A reason and the trials that failed for it."""

    reason: str
    numbers: tuple[int, ...]
    n_reruns: int


@dataclass(frozen=True)
class Facts:
    """All that a report is made of.

    Args:
        ranked: the finished trials, the best first.
        unranked: all others by number.
        front: the Pareto front of ACC and BWT.
        protected: of the best trials and of all reruns, as far as they say it.
        cells: of the paper, for the best trial.
        departures: where the best trial leaves the paper's protocol.
    """

    sweep: Sweep
    trials: tuple[TrialRecord, ...]
    ranked: tuple[TrialRecord, ...]
    unranked: tuple[TrialRecord, ...]
    front: tuple[TrialRecord, ...]
    tests: tuple[Rerun, ...]
    failures: tuple[Failure, ...]
    counts: Mapping[str, int]
    protected: tuple[Protected, ...]
    cells: tuple[Cell, ...]
    departures: tuple[str, ...]

    @property
    def best(self) -> TrialRecord | None:
        """The first in the ranking."""
        return self.ranked[0] if self.ranked else None

    @property
    def best_test(self) -> Rerun | None:
        """What the best configuration did on the test split."""
        numbers = {result.configuration: result for result in self.tests}
        return numbers.get(self.best.number) if self.best else None

    @property
    def best_protected(self) -> Protected | None:
        """How selectively the best configuration protects: by its reruns, or else its trial."""
        own = [p for p in self.protected if self.best and p.configuration == self.best.number]
        return own[-1] if own else None

    @property
    def seconds(self) -> float:
        """Of training, search only."""
        return sum(trial.seconds for trial in self.trials)


def facts_of(sweep: Sweep, trials: Sequence[TrialRecord], tests: Sequence[TrialRecord]) -> Facts:
    """Rank, count and compare."""
    order = ranked(trials, sweep.select_objective)
    places = {trial.number: place for place, trial in enumerate(order)}
    results = sorted(
        reruns_of(sweep, trials, tests), key=lambda r: places.get(r.configuration, len(places))
    )
    run = run_of(sweep, order[0]) if order else sweep.run
    return Facts(
        sweep=sweep,
        trials=tuple(trials),
        ranked=tuple(order),
        unranked=tuple(t for t in sorted(trials, key=_number) if t.state != "finished"),
        front=tuple(pareto_front(trials, ("acc", "bwt"))),
        tests=tuple(results),
        failures=tuple(failures(trials, tests)),
        counts=Counter(trial.state for trial in trials),
        protected=tuple(protected(order[:_N_PROTECTED], tests)),
        cells=tuple(matching_cells(run, len(order[0].R[0]))) if order and order[0].R else (),
        departures=tuple(departures(run)),
    )


def measured(values: Iterable[float]) -> Measured:
    """Mean and sample deviation."""
    numbers = list(values)
    deviation = statistics.stdev(numbers) if len(numbers) > 1 else None
    return Measured(statistics.fmean(numbers), deviation, len(numbers))


def over_seeds(trial: TrialRecord) -> dict[str, Measured]:
    """ACC and BWT of a finished trial; the deviation over its seeds comes from their R."""
    by_seed = {"acc": [_acc(R) for R in trial.R], "bwt": [_bwt(R) for R in trial.R]}
    return {
        name: Measured(trial.metrics[name], measured(values).deviation, len(values))
        if values
        else Measured(trial.metrics[name], None, 1)
        for name, values in by_seed.items()
    }


def mean_matrix(matrices: Sequence[Matrix]) -> Matrix:
    """Cell by cell; blank where any is."""
    return [
        [None if None in cells else statistics.fmean(cells) for cells in zip(*rows, strict=True)]
        for rows in zip(*matrices, strict=True)
    ]


def run_of(sweep: Sweep, trial: TrialRecord) -> dict[str, Any]:
    """The `run` block that a trial had."""
    return with_values(sweep.run, dict(trial.values))


def reruns_of(
    sweep: Sweep, trials: Sequence[TrialRecord], tests: Sequence[TrialRecord]
) -> list[Rerun]:
    """Finished reruns by configuration."""
    searched = {trial.number: trial for trial in trials}
    groups: dict[int, list[TrialRecord]] = {}
    for record in tests:
        groups.setdefault(int(record.values["configuration"]), []).append(record)
    return [
        _rerun(sweep, number, searched.get(number), group)
        for number, group in groups.items()
        if finished(group)
    ]


def protected(best: Sequence[TrialRecord], tests: Sequence[TrialRecord]) -> list[Protected]:
    """The best trials in their order, each with its reruns behind it; then all other reruns."""
    groups: dict[int, list[TrialRecord]] = {trial.number: [] for trial in best}
    for record in finished(tests):
        groups.setdefault(int(record.values["configuration"]), []).append(record)
    searched = {trial.number: trial for trial in best}
    found = []
    for number, again in groups.items():
        search = [searched[number]] if number in searched else []
        found += [_protected(number, "validation", search), _protected(number, "test", again)]
    return [one for one in found if one is not None]


def failures(trials: Sequence[TrialRecord], tests: Sequence[TrialRecord]) -> list[Failure]:
    """Reasons, the most frequent first."""
    numbers: dict[str, list[int]] = {}
    again: Counter[str] = Counter()
    for trial in trials:
        if trial.state == "failed":
            numbers.setdefault(_reason(trial), []).append(trial.number)
    again.update(_reason(record) for record in tests if record.state == "failed")
    found = [
        Failure(reason, tuple(numbers.get(reason, ())), again[reason])
        for reason in dict.fromkeys([*numbers, *again])
    ]
    return sorted(found, key=lambda failure: -len(failure.numbers) - failure.n_reruns)


def _rerun(
    sweep: Sweep, number: int, search: TrialRecord | None, group: Sequence[TrialRecord]
) -> Rerun:
    done = finished(group)
    by_seed = {
        name: {int(record.values["seed"]): record.metrics[name] for record in done}
        for name in ("acc", "bwt")
    }
    R = mean_matrix([record.R[0] for record in done if record.R])
    run = run_of(sweep, search) if search else {}
    return Rerun(
        configuration=number,
        search=search,
        acc=measured(by_seed["acc"].values()),
        bwt=measured(by_seed["bwt"].values()),
        seeds=tuple(by_seed["acc"]),
        by_seed=by_seed,
        R=R,
        cells=tuple(matching_cells(run, len(R))),
        n_failed=sum(record.state == "failed" for record in group),
    )


def _protected(
    number: int, split: Literal["validation", "test"], records: Sequence[TrialRecord]
) -> Protected | None:
    runs = [run for record in records for run in record.selectivity if run]
    if not runs:
        return None
    return Protected(number, split, _after(runs, 0), _after(runs, len(runs[0]) - 1))


def _after(runs: Sequence[list[Selectivity]], t: int) -> AfterTask:
    after = [run[t] for run in runs]
    return AfterTask(
        task=t,
        held=measured(one["held"] for one in after),
        free=measured(one["free"] for one in after),
        selectivity=measured(one["selectivity"] for one in after),
        warnings=tuple(one["warning"] for one in after if one["warning"]),
    )


def _number(trial: TrialRecord) -> int:
    return trial.number


def _reason(trial: TrialRecord) -> str:
    return (trial.reason or "").strip() or "no reason was recorded"


# As mpnet.metrics has them; importing that would bring torch into a report.
def _acc(R: Matrix) -> float:
    return statistics.fmean(value for value in R[-1] if value is not None)


def _bwt(R: Matrix) -> float:
    diagonal = [row[t] for t, row in enumerate(R)]
    return _acc(R) - statistics.fmean(value for value in diagonal if value is not None)
