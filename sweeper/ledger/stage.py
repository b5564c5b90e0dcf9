"""One stage of a sweep while a driver works on it: what is to be done next, and what came of it.

A trial that a driver left running is given out again, under its number, before anything new: it
finds its checkpoint by the key of its values.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Generic, TypeVar

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from sweeper.config.space import Values
from sweeper.ledger.entries import (
    AT_MOST,
    ATTEMPT,
    CRASHES,
    OUTCOME,
    REASON,
    RUN,
    SHOWN,
    VOID,
    is_own,
    key_of,
)
from sweeper.results.progress import acc_after_tasks
from sweeper.results.records import Matrix, Record, Rerun

What = TypeVar("What", Values, Rerun)


@dataclass(frozen=True)
class Asked(Generic[What]):
    """What is to be run.

    Args:
        number: the place in the ledger.
        key: by which its checkpoints and its MLflow run are found.
        attempt: 0 for the first; a crash or the death of a driver makes another one necessary.
        what: the values of a trial, or a rerun.
    """

    number: int
    key: str
    attempt: int
    what: What


def _always(what: object) -> bool:
    """Nothing has to wait."""
    return True


class Stage(ABC, Generic[What]):
    """A study in the journal; only one driver at a time writes to it.

    Args:
        study: that holds its trials.
        storage: the journal that it is in.
        objective: metrics that a finished trial must have.
    """

    def __init__(
        self, study: optuna.Study, storage: BaseStorage, objective: Sequence[str]
    ) -> None:
        self.study, self.objective = study, tuple(objective)
        self.is_closed = False  # nothing more is to start
        self._storage = storage
        self._study_id = storage.get_study_id_from_name(study.study_name)
        self._ids: dict[int, int] = {}  # in the storage, which reads the journal to tell one
        self._running: dict[int, str] = {}  # keys by number
        self._begun: dict[int, str] = {}  # by an earlier driver, or crashed: to be given again
        self._over: set[str] = set()  # keys
        self._values: list[float] = []  # of finished trials, in the order of their ends
        trials = [t for t in study.get_trials(deepcopy=False) if is_own(t)]
        for trial in sorted(trials, key=_end_of):
            self._take_up(trial)

    def _take_up(self, trial: FrozenTrial) -> None:
        if trial.state.is_finished():
            self._over.add(key_of(trial.params))
            if trial.state is TrialState.COMPLETE:
                self._values.append(trial.values[0])
        else:
            self._begun[trial.number] = key_of(trial.params)

    def settle(self) -> None:
        """Make what an earlier driver has begun ready to go on; what it half wrote is undone."""
        for trial in self.study.get_trials(deepcopy=False):
            if not (trial.state.is_finished() or is_own(trial)):
                self._give_back(trial.number)
        begun, self._begun = self._begun, {}
        for number, key in begun.items():
            trial = self._trial(number)
            if self._is_tried(key) or not self._is_whole(trial):
                self._give_back(number)
                continue
            self._running[number] = key
            if OUTCOME in trial.user_attrs:
                self.finish(number, trial.user_attrs[OUTCOME])
            else:
                self.release(number)

    @property
    def name(self) -> str:
        """The stage of the sweep: "search" or "test"."""
        return self.study.study_name

    # What is to be done

    @property
    def n_running(self) -> int:
        """How many are being worked on."""
        return len(self._running)

    def is_running(self, number: int) -> bool:
        """Whether one of them is being worked on."""
        return number in self._running

    @property
    @abstractmethod
    def n_wanted(self) -> int:
        """How many there will be in the end."""

    @property
    def n_left(self) -> int:
        """How many still need a final state."""
        return max(0, self.n_wanted - len(self._over))

    def wants_more(self) -> bool:
        """Whether something is to be started beside what is running."""
        return not self.is_closed and self.n_left > self.n_running

    def ask(self, is_ready: Callable[[What], bool] = _always) -> Asked[What] | None:
        """What is to be run next, if anything.

        Args:
            is_ready: whether something can run now; if not, something else is tried before it.
        """
        if not self.wants_more():
            return None
        for number in self._begun:
            if is_ready(self._what(self._trial(number))):
                return self._again(number)
        return self._new(is_ready) if self.n_left > self.n_running + len(self._begun) else None

    def _again(self, number: int) -> Asked[What]:
        trial = self._trial(number)
        attempt = trial.user_attrs.get(ATTEMPT, 0) + 1
        self._set(number, ATTEMPT, attempt)
        self._running[number] = key = self._begun.pop(number)
        return Asked(number, key, attempt, self._what(trial))

    def _started(self, trial: FrozenTrial, key: str, what: What) -> Asked[What]:
        """Write a new trial in one line: asked for without its values, it would be none."""
        trial_id = self._storage.create_new_trial(self._study_id, template_trial=trial)
        number = self._storage.get_trial_number_from_id(trial_id)
        self._ids[number], self._running[number] = trial_id, key
        return Asked(number, key, 0, what)

    def note_run(self, number: int, run: Mapping[str, Any]) -> None:
        """Keep what was resolved: every default, the seed, the split, the device."""
        self._set(number, RUN, dict(run))

    # What came of it

    def finish(self, number: int, outcome: Mapping[str, Any]) -> None:
        """Note that all tasks are done; an objective that is no number counts as a failure."""
        values = [outcome["metrics"].get(metric) for metric in self.objective]
        if any(value is None or not math.isfinite(value) for value in values):
            self.fail(number, f"the objective must be a finite number, but got {values}")
            return
        self._set(number, OUTCOME, dict(outcome))
        for name, value in outcome["metrics"].items():
            self._set(number, name, value)  # again, so that the dashboard has a column for each
        self._show(number, outcome.get("R", ()))
        self._values.append(values[0])
        self._end(number, TrialState.COMPLETE, values)

    def fail(self, number: int, reason: str) -> None:
        """Note that it has failed for good."""
        self._set(number, REASON, reason)
        self._end(number, TrialState.FAIL)

    def stop(
        self,
        number: int,
        reason: str,
        shown: Sequence[Matrix] = (),
        at_most: float | None = None,
    ) -> None:
        """Note that a scheduler stopped it: the sampler learns from it, but it cannot win.

        Args:
            number: the place in the ledger.
            reason: for a person.
            shown: the matrices of its seeds as far as they came.
            at_most: the objective that it could still have reached, if anyone knows.
        """
        self._set(number, REASON, reason)
        if shown:
            self._set(number, SHOWN, list(shown))
        if at_most is not None:
            self._set(number, AT_MOST, at_most)
        self._show(number, shown)
        self._end(number, TrialState.PRUNED)

    def crash(self, number: int, reason: str, retries: int) -> bool:
        """Whether it is to be tried again after an error, or has failed for good."""
        n_crashes = self._trial(number).user_attrs.get(CRASHES, 0) + 1
        if n_crashes > retries:
            self.fail(number, reason)
            return False
        self._set(number, CRASHES, n_crashes)
        self.release(number)
        return True

    def release(self, number: int) -> None:
        """Nobody runs it any more: it is given out again before anything new."""
        self._begun[number] = self._running.pop(number)

    def _end(self, number: int, state: TrialState, values: Sequence[float] | None = None) -> None:
        """Write the end itself, behind all that belongs to it."""
        self.study.tell(number, values, state)
        self._over.add(self._running.pop(number))

    def _show(self, number: int, matrices: Sequence[Matrix]) -> None:
        """Keep ACC after each task as Optuna's intermediate values, which are of the objective."""
        if self.objective == ("acc",):
            for t, acc in enumerate(acc_after_tasks(matrices)):
                self._storage.set_trial_intermediate_value(self._id(number), t + 1, acc)

    def _give_back(self, number: int) -> None:
        """Undo that it was ever asked for."""
        self._set(number, VOID, True)
        self._storage.set_trial_state_values(self._id(number), TrialState.FAIL)

    # The two kinds

    @abstractmethod
    def _new(self, is_ready: Callable[[What], bool]) -> Asked[What] | None:
        """Something that was not begun before, and can run now."""

    @abstractmethod
    def _is_whole(self, trial: FrozenTrial) -> bool:
        """Whether a trial that was begun has all its values."""

    @abstractmethod
    def _what(self, trial: FrozenTrial) -> What:
        """The values or the rerun of a trial."""

    @abstractmethod
    def record(self, number: int) -> Record:
        """What is known of one of them."""

    def _is_tried(self, key: str) -> bool:
        under_way = chain(self._running.values(), self._begun.values())
        return key in self._over or key in under_way

    def _id(self, number: int) -> int:
        if number not in self._ids:
            known = self._storage.get_trial_id_from_study_id_trial_number(self._study_id, number)
            self._ids[number] = known
        return self._ids[number]

    def _trial(self, number: int) -> FrozenTrial:
        return self._storage.get_trial(self._id(number))

    def _set(self, number: int, name: str, value: Any) -> None:
        self._storage.set_trial_user_attr(self._id(number), name, value)


def _end_of(trial: FrozenTrial) -> tuple[bool, datetime, int]:
    return trial.datetime_complete is None, trial.datetime_complete or datetime.min, trial.number
