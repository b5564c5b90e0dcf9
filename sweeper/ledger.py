"""The study as the truth of a sweep: what is finished, failed, or to be tried again.

A trial is an Optuna trial on a journal file, one line per fact, written before anyone acts on it.
A driver that dies leaves running trials; the next one queues their values again, and the trial
finds its checkpoint by the key of its values.
"""

import hashlib
import json
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Literal

import optuna
from filelock import FileLock
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._file import BaseJournalFileLock
from optuna.trial import FrozenTrial, TrialState

from sweeper.errors import SweepError
from sweeper.reading import parse_yaml
from sweeper.records import State, TrialRecord
from sweeper.samplers import build_sampler, distributions, suggest
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

    def __init__(self, journal: str) -> None:
        self._journal, self._lock = journal, FileLock(f"{journal}.lock")

    def acquire(self) -> bool:
        """Wait for it, and drop the half line of a writer that died or had no space left.

        The next line would be written behind it, and neither could be read.
        """
        self._lock.acquire()
        with open(self._journal, "rb+") as file:
            _drop_half_line(file)
        return True

    def release(self) -> None:
        """Let go."""
        self._lock.release()


def _drop_half_line(file: BinaryIO) -> None:
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        file.seek(end - 1)
        if file.read(1) == b"\n":
            break
        end -= 1
    if end < size:
        file.truncate(end)


class Ledger:
    """The journal of a sweep's folder; opens in optuna-dashboard as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = str(folder / JOURNAL)
        self.storage = JournalStorage(JournalFileBackend(path, _KernelLock(path)))

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
        """Write down what is to be done, with an identity of its own if it is new.

        The text comes last: a sweep has begun when it is there.
        """
        study = self._load() if "search" in self._names() else self._study(search_of(sweep))
        about = study.user_attrs
        if "sweep" not in about:
            study.set_user_attr("id", about.get("id", uuid.uuid4().hex))
            study.set_user_attr("name", sweep.name)
            for folder in sweep.settings.warm_start:
                _tell_earlier(study, sweep.space, Path(folder))
        if about.get("sweep") != sweep.text:
            study.set_user_attr("sweep", sweep.text)

    def open(self, search: Search) -> "Study":
        """The study of a stage, ready to give trials."""
        return Study(self._study(search), search)

    def _study(self, search: Search) -> optuna.Study:
        if search.stage not in self._names():
            optuna.create_study(
                study_name=search.stage,
                storage=self.storage,
                directions=["maximize"] * len(search.objective),
            )
        study = self._load(search.stage)
        # The same seed on a study that has trials would draw the same points again.
        seed = search.seed + len(study.get_trials(deepcopy=False))
        study.sampler = build_sampler(search.sampler, search.space, seed)
        return study

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
    if not has_begun(folder):
        raise SweepError(f"{folder}: must be the folder of a sweep, but none has begun there.")
    return Ledger(folder)


def has_begun(folder: Path) -> bool:
    """Whether there is a sweep to go on with."""
    if not (folder / JOURNAL).exists():
        return False
    ledger = Ledger(folder)
    return "search" in ledger._names() and "sweep" in ledger._about()


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


def rerun_of(points: Sequence[Values], earlier: Sequence[TrialRecord]) -> Search:
    """Reruns on the test sets: these points, beside those that earlier selections have begun.

    The objective is one for all selections: Optuna cannot change it, and nothing is sought here.
    """
    number = Domain("int", (0, 2**31), {})
    begun = {record.key for record in earlier if record.state != "interrupted"}
    n_trials = len(begun | {key_of(point) for point in points})
    space = SearchSpace(configuration=number, seed=number)
    return Search("test", space, "random", n_trials, ("acc",), first=tuple(points))


class Study:
    """One stage of a sweep while it runs; only one driver at a time writes to it."""

    def __init__(self, study: optuna.Study, search: Search) -> None:
        self.study, self.search = study, search
        self._n_duplicates = 0
        self._running: dict[int, str] = {}  # keys by number
        self._over: set[str] = set()  # keys
        self._values: list[float] = []  # of finished trials, in the order of their ends
        for trial in sorted(self._own_trials(), key=_end_of):
            self._remember(_record(trial))
        self._queue_points()

    def _remember(self, record: TrialRecord) -> None:
        if record.state in OVER:
            self._over.add(record.key)
        if record.state == "finished":
            self._values.append(record.metrics[self.search.objective[0]])
        if record.state == "running":
            self._running[record.number] = record.key

    def _queue_points(self) -> None:
        """What is to be tried before the sampler's own points, or instead of them."""
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
        return self.n_left > len(self._running)

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
    told = [trial.user_attrs.get("warm_start") for trial in study.get_trials(deepcopy=False)]
    earlier = open_ledger(folder)._load()
    for trial in earlier.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        name = f"{folder}#{trial.number}"
        has_place = not space.faults(trial.params)
        if has_place and len(trial.values) == len(study.directions) and name not in told:
            values = space.typed(trial.params)
            study.add_trial(
                optuna.create_trial(
                    params=values,
                    distributions=distributions(space, values),
                    values=trial.values,
                    user_attrs={"warm_start": name},
                )
            )
