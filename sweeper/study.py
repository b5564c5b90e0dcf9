"""One stage of a sweep as an Optuna study: what is tried next, and what came of it."""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from random import Random
from typing import Any, Literal

import optuna
from optuna.trial import FrozenTrial, TrialState

from sweeper.records import State, TrialRecord
from sweeper.samplers import suggest
from sweeper.space import SearchSpace, Values
from sweeper.sweep import Metric, Sampler

Stage = Literal["search", "test"]

OVER: tuple[State, ...] = ("finished", "stopped", "failed")
_MOST_DUPLICATES = 20  # in a row, before an untried point is taken instead


def key_of(values: Mapping[str, Any]) -> str:
    """A short name for a configuration, the same on every machine."""
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Search:
    """What one study of a sweep looks for.

    Args:
        stage: "search" on validation data, or "test" for reruns of the best.
        space: domains of what is tried.
        sampler: that chooses the points; "grid" takes them all.
        n_trials: how many of them.
        objective: metrics to maximise.
        seed: of the sampler.
        first: points to begin with.
        patience: finished trials without a better one before it ends.
    """

    stage: Stage
    space: SearchSpace
    sampler: Sampler
    n_trials: int
    objective: tuple[Metric, ...]
    seed: int = 0
    first: tuple[Values, ...] = ()
    patience: int | None = None


class Study:
    """One stage of a sweep while it runs; only one driver at a time writes to it."""

    def __init__(self, study: optuna.Study, search: Search) -> None:
        self.study, self.search = study, search
        self.halted = ""  # why nothing more is to start, if so
        self._n_duplicates = 0
        self._running: dict[int, str] = {}  # keys by number
        self._over: set[str] = set()  # keys
        self._values: list[float] = []  # of finished trials, in the order of their ends
        for trial in sorted(self._own_trials(), key=_end_of):
            self._remember(record_of(trial))

    def _remember(self, record: TrialRecord) -> None:
        if record.state in OVER:
            self._over.add(record.key)
        if record.state == "finished":
            self._values.append(record.metrics[self.search.objective[0]])
        if record.state == "running":
            self._running[record.number] = record.key

    def queue_points(self) -> None:
        """Queue what is to be tried before the sampler's own points, or instead of them."""
        search, points = self.search, dict[str, Values]()
        grid = search.space.points() if search.sampler == "grid" else ()
        for point in chain(map(search.space.typed, search.first), grid):
            if len(points) == search.n_trials:
                break
            points.setdefault(key_of(point), point)
        waiting = self._waiting()
        for key, point in points.items():
            if not self._is_tried(key) and key not in waiting:
                self.study.enqueue_trial(point)

    def _is_tried(self, key: str) -> bool:
        return key in self._over or key in self._running.values()

    def _waiting(self) -> set[str]:
        return {key_of(_values(trial)) for trial in self._own_trials(TrialState.WAITING)}

    # What is to be done

    def suggest(self, trial: optuna.Trial) -> Values:
        """The values of a new trial."""
        return suggest(self.search.space, trial)

    @property
    def n_left(self) -> int:
        """How many trials still need a final state."""
        return 0 if self._has_waited() else max(0, self.search.n_trials - len(self._over))

    def wants_more(self) -> bool:
        """Whether another trial should start."""
        return not self.halted and self.n_left > len(self._running)

    def _has_waited(self) -> bool:
        patience = self.search.patience
        if patience is None or len(self._values) <= patience:
            return False
        return max(self._values[-patience:]) <= max(self._values[:-patience])

    def accept(self, number: int, values: Values) -> bool:
        """Take a sampled point; one that was tried before is given back to the sampler."""
        key = key_of(values)
        if not self._is_tried(key):
            self._n_duplicates = 0
            self._running[number] = key
            return True
        self._set(number, "duplicate", True)
        self.study.tell(number, state=TrialState.FAIL)
        self._n_duplicates += 1
        if self._n_duplicates >= _MOST_DUPLICATES:
            self._queue_untried()
        return False

    def _queue_untried(self) -> None:
        """A space that the sampler has narrowed down too far: the next point in order, or any.

        A space without end has such points too: where no other path exists, a choice is a point.
        """
        space = self.search.space
        points = space.points() if space.size is not None else self._drawn()
        self.study.enqueue_trial(next(p for p in points if not self._is_tried(key_of(p))))

    def _drawn(self) -> Iterator[Values]:
        random = Random(self.search.seed + len(self.study.get_trials(deepcopy=False)))
        while True:
            yield self.search.space.drawn(random)

    # What came of it

    def finish(self, number: int, outcome: Mapping[str, Any]) -> None:
        """All tasks are done; an objective that is not a number counts as a failure."""
        values = [outcome["metrics"].get(metric) for metric in self.search.objective]
        if any(value is None or not math.isfinite(value) for value in values):
            self.fail(number, f"the objective must be a finite number, but got {values}")
            return
        self._set(number, "outcome", dict(outcome))
        self.study.tell(number, values)
        self._values.append(values[0])
        self._end(number)

    def fail(self, number: int, reason: str) -> None:
        """Failed for good."""
        self._set(number, "reason", reason)
        self.study.tell(number, state=TrialState.FAIL)
        self._end(number)

    def stop(self, number: int, reason: str) -> None:
        """A scheduler stopped it: the sampler may learn from it, but it cannot win."""
        self._set(number, "reason", reason)
        self.study.tell(number, state=TrialState.PRUNED)
        self._end(number)

    def _end(self, number: int) -> None:
        self._over.add(self._running.pop(number))

    def release_running(self) -> list[int]:
        """Queue again what was running when its driver ended; gives the numbers."""
        numbers = sorted(self._running)
        for number in numbers:
            self.release(number)
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            self.study.tell(trial.number, state=TrialState.FAIL)  # a duplicate, half given back
        return numbers

    def release(self, number: int) -> None:
        """Queue a running trial again; dying in here leaves it running, or queued once."""
        trial = self._trial(number)
        if "outcome" in trial.user_attrs:
            self.finish(number, trial.user_attrs["outcome"])
            return
        key, values = self._running.pop(number), _values(trial)
        # A duplicate whose driver ended before it could be given back is not queued.
        if values and not self._is_tried(key) and key not in self._waiting():
            self.study.enqueue_trial(values, user_attrs={"retry_of": number})
        self._set(number, "interrupted", True)
        self.study.tell(number, state=TrialState.FAIL)

    def records(self) -> list[TrialRecord]:
        """What is known of all trials."""
        return [record_of(trial) for trial in self._own_trials()]

    def record(self, number: int) -> TrialRecord:
        """What is known of one trial."""
        return record_of(self._trial(number))

    def _set(self, number: int, name: str, value: Any) -> None:
        self.study._storage.set_trial_user_attr(self._trial(number)._trial_id, name, value)

    def _trial(self, number: int) -> FrozenTrial:
        return self.study.get_trials(deepcopy=False)[number]

    def _own_trials(self, *states: TrialState) -> Iterable[FrozenTrial]:
        trials = self.study.get_trials(deepcopy=False, states=states or None)
        return [trial for trial in trials if is_own(trial)]


def is_own(trial: FrozenTrial) -> bool:
    """Whether it belongs to this sweep: neither another's nor a point that was tried before."""
    return not ({"duplicate", "warm_start"} & trial.user_attrs.keys())


def _values(trial: FrozenTrial) -> Values:
    """Those it has, and those it was queued with and has not asked for yet."""
    return {**trial.system_attrs.get("fixed_params", {}), **trial.params}


def _end_of(trial: FrozenTrial) -> tuple[bool, datetime]:
    return trial.datetime_complete is None, trial.datetime_complete or datetime.min


def _state(trial: FrozenTrial) -> State:
    if trial.state is TrialState.FAIL:
        return "interrupted" if "interrupted" in trial.user_attrs else "failed"
    states: dict[TrialState, State] = {
        TrialState.WAITING: "waiting",
        TrialState.RUNNING: "running",
        TrialState.COMPLETE: "finished",
        TrialState.PRUNED: "stopped",
    }
    return states[trial.state]


def record_of(trial: FrozenTrial) -> TrialRecord:
    """What the rest of the service knows of a trial."""
    values, outcome = _values(trial), trial.user_attrs.get("outcome", {})
    return TrialRecord(
        number=trial.number,
        key=key_of(values),
        values=values,
        state=_state(trial),
        metrics=outcome.get("metrics", {}),
        seeds=tuple(outcome.get("seeds", ())),
        R=tuple(outcome.get("R", ())),
        curves=tuple(outcome.get("curves", ())),
        selectivity=tuple(outcome.get("selectivity", ())),
        seconds=outcome.get("seconds", 0.0),
        reason=trial.user_attrs.get("reason"),
    )
