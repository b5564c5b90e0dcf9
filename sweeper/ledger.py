"""The study as the truth of a sweep: what is finished, failed, or to be tried again.

A trial is an Optuna trial on a journal file, one line per fact, written before anyone acts on it.
A driver that dies leaves running trials; the next one queues their values again, and the trial
finds its checkpoint by the key of its values.
"""

import hashlib
import json
import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import optuna
from filelock import FileLock
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._file import BaseJournalFileLock
from optuna.trial import FrozenTrial, TrialState

from sweeper.errors import SweepError
from sweeper.reading import parse_yaml
from sweeper.records import State, TrialRecord
from sweeper.samplers import build_sampler, suggest
from sweeper.space import Domain, SearchSpace, Values
from sweeper.sweep import Metric, Sampler, Sweep, parse_sweep

Stage = Literal["search", "test"]

JOURNAL = "study.journal"
OVER: tuple[State, ...] = ("finished", "stopped", "failed")
_MOST_DUPLICATES = 20  # in a row, before an untried point is taken instead

optuna.logging.set_verbosity(optuna.logging.WARNING)


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


class _KernelLock(BaseJournalFileLock):
    """A lock that dies with its holder; Optuna's own outlives a kill."""

    def __init__(self, path: str) -> None:
        self._lock = FileLock(path)

    def acquire(self) -> bool:
        """Wait for it."""
        self._lock.acquire()
        return True

    def release(self) -> None:
        """Let go."""
        self._lock.release()


class Ledger:
    """The journal of a sweep's folder; opens in optuna-dashboard as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = str(folder / JOURNAL)
        self.storage = JournalStorage(JournalFileBackend(path, _KernelLock(f"{path}.lock")))

    @property
    def sweep(self) -> Sweep:
        """As it was started."""
        about = self._about()
        return parse_sweep(parse_yaml(about["sweep"]), about["name"])

    @property
    def sweep_id(self) -> str:
        """Different for every sweep ever started."""
        return str(self._about()["id"])

    @property
    def places(self) -> list[str]:
        """Where to look at a finished sweep; nothing before its end."""
        return list(self._about().get("places", ()))

    @places.setter
    def places(self, lines: Sequence[str]) -> None:
        self._load().set_user_attr("places", list(lines))

    def records(self, stage: Stage = "search") -> list[TrialRecord]:
        """All trials of a stage, without what other sweeps told it."""
        if stage not in self._names():
            return []
        study = optuna.load_study(study_name=stage, storage=self.storage)
        return [_record(trial) for trial in study.get_trials(deepcopy=False) if _is_own(trial)]

    def test_records(self) -> list[TrialRecord]:
        """The reruns on the test sets."""
        return self.records("test")

    def begin(self, sweep: Sweep) -> None:
        """Write down what is to be done, with an identity of its own if it is new."""
        names = self._names()
        study = self._study(search_of(sweep)) if "search" not in names else self._load()
        if "id" not in study.user_attrs:
            study.set_user_attr("id", uuid.uuid4().hex)
            study.set_user_attr("name", sweep.name)
            for folder in sweep.settings.warm_start:
                _tell_earlier(study, sweep.space, Path(folder))
        if study.user_attrs.get("sweep") != sweep.text:
            study.set_user_attr("sweep", sweep.text)

    def open(self, search: Search) -> "Study":
        """The study of a stage, ready to give trials."""
        return Study(self._study(search), search)

    def _study(self, search: Search) -> optuna.Study:
        is_new = search.stage not in self._names()
        n_before = 0 if is_new else len(self._load(search.stage).get_trials(deepcopy=False))
        # The same seed on a study that has trials would draw the same points again.
        sampler = build_sampler(search.sampler, search.space, search.seed + n_before)
        if not is_new:
            return optuna.load_study(
                study_name=search.stage, storage=self.storage, sampler=sampler
            )
        return optuna.create_study(
            study_name=search.stage,
            storage=self.storage,
            directions=["maximize"] * len(search.objective),
            sampler=sampler,
        )

    def _load(self, stage: Stage = "search") -> optuna.Study:
        return optuna.load_study(study_name=stage, storage=self.storage)

    def _names(self) -> list[str]:
        return [study.study_name for study in self.storage.get_all_studies()]

    def _about(self) -> dict[str, Any]:
        return self._load().user_attrs


def open_ledger(folder: Path) -> Ledger:
    """The ledger of a sweep that has begun.

    Raises:
        SweepError: there is none.
    """
    if not (folder / JOURNAL).exists():
        raise SweepError(f"{folder}: must be the folder of a sweep, but has no {JOURNAL}.")
    ledger = Ledger(folder)
    if "search" not in ledger._names() or "id" not in ledger._about():
        raise SweepError(f"{folder}: must be the folder of a sweep, but none has begun there.")
    return ledger


def search_of(sweep: Sweep) -> Search:
    """The search on validation data."""
    settings = sweep.settings
    return Search(
        "search",
        sweep.space,
        settings.sampler,
        sweep.n_trials,
        sweep.objective,
        settings.seed,
        settings.first,
        settings.patience,
    )


def rerun_of(sweep: Sweep, points: Sequence[Values], earlier: Sequence[TrialRecord]) -> Search:
    """Reruns on the test sets: these points, beside those of earlier selections."""
    number = Domain("int", (0, 2**31), {})
    wanted = {key_of(point) for point in points}
    others = [r for r in earlier if r.state in OVER and r.key not in wanted]
    space = SearchSpace(configuration=number, seed=number)
    n_trials = len(points) + len(others)
    return Search("test", space, "random", n_trials, sweep.select_objective, first=tuple(points))


class Study:
    """One stage of a sweep while it runs; only one driver at a time writes to it."""

    def __init__(self, study: optuna.Study, search: Search) -> None:
        self.study, self.search = study, search
        self._n_duplicates = 0
        self._running: set[int] = set()
        self._tried: set[str] = set()
        self._n_over = 0
        self._values: list[float] = []  # of finished trials, in order
        for trial in self._own_trials():
            self._remember(_record(trial))
        waiting = {key_of(_values(t)) for t in self._own_trials(TrialState.WAITING)}
        points = [*search.first, *(search.space.points() if search.sampler == "grid" else ())]
        for point in points[: search.n_trials]:
            if key_of(point) not in self._tried | waiting:
                study.enqueue_trial(point)

    def _remember(self, record: TrialRecord) -> None:
        if record.state in OVER:
            self._n_over += 1
            self._tried.add(key_of(record.values))
        if record.state == "finished":
            self._values.append(record.metrics[self.search.objective[0]])
        if record.state == "running":
            self._running.add(record.number)
            self._tried.add(key_of(record.values))

    # What is to be done

    def suggest(self, trial: optuna.Trial) -> Values:
        """The values of a new trial."""
        return suggest(self.search.space, trial)

    @property
    def n_left(self) -> int:
        """How many trials still need a final state."""
        return 0 if self._has_waited() else max(0, self.search.n_trials - self._n_over)

    def wants_more(self) -> bool:
        """Whether another trial should start."""
        return self.n_left > len(self._running)

    def _has_waited(self) -> bool:
        patience = self.search.patience
        if patience is None or len(self._values) <= patience:
            return False
        return max(self._values[-patience:]) <= max(self._values[:-patience])

    def accept(self, number: int, values: Values) -> bool:
        """Take a sampled point; one that was tried before is given back to the sampler."""
        key = key_of(values)
        if key not in self._tried:
            self._n_duplicates = 0
            self._tried.add(key)
            self._running.add(number)
            return True
        self._set(number, "duplicate", True)
        self.study.tell(number, state=TrialState.FAIL)
        self._n_duplicates += 1
        if self._n_duplicates >= _MOST_DUPLICATES:
            self._queue_untried()
        return False

    def _queue_untried(self) -> None:
        """A finite space that the sampler has narrowed down too far: the next point in order."""
        if self.search.space.size is not None:
            untried = (p for p in self.search.space.points() if key_of(p) not in self._tried)
            self.study.enqueue_trial(next(untried))

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
        self._running.discard(number)
        self._n_over += 1

    def release_running(self) -> list[int]:
        """Queue again what was running when its driver ended; gives the numbers."""
        numbers = sorted(self._running)
        for number in numbers:
            self.release(number)
        return numbers

    def release(self, number: int) -> None:
        """Queue a running trial again; dying in here leaves it running, or queued once."""
        trial = self._trial(number)
        if "outcome" in trial.user_attrs:
            self.finish(number, trial.user_attrs["outcome"])
            return
        waiting = {key_of(_values(t)) for t in self._own_trials(TrialState.WAITING)}
        if trial.params and key_of(trial.params) not in waiting:
            self.study.enqueue_trial(trial.params, user_attrs={"retry_of": number})
        self._set(number, "interrupted", True)
        self.study.tell(number, state=TrialState.FAIL)
        self._running.discard(number)
        self._tried.discard(key_of(trial.params))

    def records(self) -> list[TrialRecord]:
        """What is known of all trials."""
        return [_record(trial) for trial in self._own_trials()]

    def record(self, number: int) -> TrialRecord:
        """What is known of one trial."""
        return _record(self._trial(number))

    def _set(self, number: int, name: str, value: Any) -> None:
        self.study._storage.set_trial_user_attr(self._trial(number)._trial_id, name, value)

    def _trial(self, number: int) -> FrozenTrial:
        return self.study.get_trials(deepcopy=False)[number]

    def _own_trials(self, *states: TrialState) -> Iterable[FrozenTrial]:
        trials = self.study.get_trials(deepcopy=False, states=states or None)
        return [trial for trial in trials if _is_own(trial)]


def _is_own(trial: FrozenTrial) -> bool:
    return not ({"duplicate", "warm_start"} & trial.user_attrs.keys())


def _values(trial: FrozenTrial) -> Values:
    """Of a waiting trial: those it was queued with."""
    return trial.params or dict(trial.system_attrs.get("fixed_params", {}))


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


def _record(trial: FrozenTrial) -> TrialRecord:
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
        seconds=outcome.get("seconds", 0.0),
        reason=trial.user_attrs.get("reason"),
    )


def _tell_earlier(study: optuna.Study, space: SearchSpace, folder: Path) -> None:
    """Give the finished trials of another sweep to the sampler, as far as they fit the space."""
    earlier = open_ledger(folder)._load()
    for trial in earlier.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        if space.faults(trial.params) or len(trial.values) != len(study.directions):
            continue
        study.add_trial(
            optuna.create_trial(
                params=trial.params,
                distributions=trial.distributions,
                values=trial.values,
                user_attrs={"warm_start": str(folder)},
            )
        )
