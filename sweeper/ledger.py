"""The study as the truth of a sweep: what is finished, failed, or to be tried again.

A trial is an Optuna trial on a journal file, one line per fact, written before anyone acts on it.
A driver that dies leaves running trials; the next one queues their values again, and the trial
finds its checkpoint by the key of its values.
"""

import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import optuna
from filelock import FileLock
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._file import BaseJournalFileLock
from optuna.trial import TrialState

from sweeper.errors import SweepError
from sweeper.reading import parse_yaml
from sweeper.records import TrialRecord
from sweeper.samplers import build_sampler, distributions
from sweeper.space import Domain, SearchSpace, Values
from sweeper.study import Search, Stage, Study, is_own, key_of, record_of
from sweeper.sweep import Sweep, parse_sweep

JOURNAL = "study.journal"
_BESIDE = "beside:"  # a database file, by its path from the folder of the sweep

optuna.logging.set_verbosity(optuna.logging.WARNING)


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

    @property
    def tracking_uri(self) -> str | None:
        """Of MLflow, wherever the environment points now; None before the first trial."""
        uri = self._about().get("tracking_uri")
        if uri and uri.startswith(_BESIDE):
            return f"sqlite:///{(self.folder.resolve() / uri.removeprefix(_BESIDE)).resolve()}"
        return uri

    @tracking_uri.setter
    def tracking_uri(self, uri: str) -> None:
        if uri.startswith("sqlite:////"):  # relative, so that folders can be moved together
            path = os.path.relpath(uri.removeprefix("sqlite:///"), self.folder.resolve())
            uri = f"{_BESIDE}{path}"
        self._load().set_user_attr("tracking_uri", uri)

    def records(self, stage: Stage = "search") -> list[TrialRecord]:
        """All trials of a stage, without what other sweeps told it."""
        if stage not in self._names():
            return []
        study = optuna.load_study(study_name=stage, storage=self.storage)
        return [record_of(trial) for trial in study.get_trials(deepcopy=False) if is_own(trial)]

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
        study = Study(self._study(search), search)
        study.queue_points()
        return study

    def n_left(self, search: Search) -> int:
        """How many trials of a stage still need a final state; nothing is written."""
        return Study(self._load(search.stage), search).n_left

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
