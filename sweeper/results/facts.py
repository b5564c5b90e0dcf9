"""What a report says, in numbers: pure functions of records. Fractions, no percent signs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mpnet import metrics
from sweeper.config.sweep import Sweep
from sweeper.results.ranking import finished, pareto_front, ranked
from sweeper.results.records import Record, RerunRecord, Selectivity, Split, TrialRecord
from sweeper.results.tested import (
    AnyTested,
    Measured,
    OrderTested,
    Tested,
    by_configuration,
    measured,
    order_tested,
    tested,
)

_N_PROTECTED = 3  # of the best trials


@dataclass(frozen=True)
class AfterTask:
    """How selectively weights are protected after a task, over several runs.

    Args:
        task: counted from 0.
        held: share of the weights that are held.
        free: share of the weights that move as if nothing protected them.
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
    split: Split
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
    """The facts that a report is made of.

    Args:
        ranked: the finished trials, the best first.
        unranked: the trials that have not finished, by number.
        front: the Pareto front of ACC and BWT.
        tests: what reruns came to on the class order that was tuned on.
        order_tests: what reruns came to on unseen class orders; never mixed with the others.
        protected: of the best trials and of reruns on their class order, as far as they say it.
    """

    sweep: Sweep
    trials: tuple[TrialRecord, ...]
    ranked: tuple[TrialRecord, ...]
    unranked: tuple[TrialRecord, ...]
    front: tuple[TrialRecord, ...]
    tests: tuple[Tested, ...]
    order_tests: tuple[OrderTested, ...]
    failures: tuple[Failure, ...]
    counts: Mapping[str, int]
    protected: tuple[Protected, ...]

    @property
    def best(self) -> TrialRecord | None:
        """The first in the ranking."""
        return self.ranked[0] if self.ranked else None

    @property
    def best_test(self) -> Tested | None:
        """What the best configuration did on the test split, on the class order of the search."""
        numbers = {result.configuration: result for result in self.tests}
        return numbers.get(self.best.number) if self.best else None

    @property
    def best_order_test(self) -> OrderTested | None:
        """What the best configuration did on the test split, on unseen class orders."""
        numbers = {result.configuration: result for result in self.order_tests}
        return numbers.get(self.best.number) if self.best else None

    @property
    def best_protected(self) -> Protected | None:
        """How selectively the best configuration protects: by its reruns, or else its trial."""
        own = [p for p in self.protected if self.best and p.configuration == self.best.number]
        return own[-1] if own else None

    @property
    def seconds(self) -> float:
        """Seconds of training, search only."""
        return sum(trial.seconds for trial in self.trials)


def facts_of(sweep: Sweep, trials: Sequence[TrialRecord], tests: Sequence[RerunRecord]) -> Facts:
    """Rank, count and compare."""
    order = ranked(trials, sweep.select_objective)
    places = {trial.number: place for place, trial in enumerate(order)}
    tuned = [record for record in tests if record.rerun.class_order is None]
    unseen = [record for record in tests if record.rerun.class_order is not None]

    def place(result: AnyTested) -> int:
        return places.get(result.configuration, len(places))

    return Facts(
        sweep=sweep,
        trials=tuple(trials),
        ranked=tuple(order),
        unranked=tuple(t for t in sorted(trials, key=_number) if t.state != "finished"),
        front=tuple(pareto_front(trials, ("acc", "bwt"))),
        tests=tuple(sorted(tested(trials, tuned), key=place)),
        order_tests=tuple(sorted(order_tested(trials, unseen), key=place)),
        failures=tuple(failures(trials, tests)),
        counts=Counter(trial.state for trial in trials),
        protected=tuple(protected(order[:_N_PROTECTED], tuned)),
    )


def over_seeds(trial: TrialRecord) -> dict[str, Measured]:
    """ACC and BWT of a finished trial; the deviation over its seeds comes from their R."""
    matrices = [np.array(R, dtype=float) for R in trial.R]
    by_seed = {"acc": [*map(metrics.acc, matrices)], "bwt": [*map(metrics.bwt, matrices)]}
    return {
        name: Measured(trial.metrics[name], measured(values).deviation, len(values))
        if values
        else Measured(trial.metrics[name], None, 1)
        for name, values in by_seed.items()
    }


def protected(best: Sequence[TrialRecord], tests: Sequence[RerunRecord]) -> list[Protected]:
    """The best trials in their order, each with its reruns behind it; then all other reruns."""
    groups = {**{trial.number: [] for trial in best}, **by_configuration(finished(tests))}
    searched = {trial.number: trial for trial in best}
    found = []
    for number, again in groups.items():
        search = [searched[number]] if number in searched else []
        found += [_protected(number, "validation", search), _protected(number, "test", again)]
    return [one for one in found if one is not None]


def failures(trials: Sequence[TrialRecord], tests: Sequence[RerunRecord]) -> list[Failure]:
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


def _protected(number: int, split: Split, records: Sequence[Record]) -> Protected | None:
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


def _reason(trial: Record) -> str:
    return (trial.reason or "").strip() or "no reason was recorded"
