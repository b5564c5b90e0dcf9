"""The truth of a sweep: what was asked for, what is finished, failed, or still to be done.

A trial is an Optuna trial on a journal file, one line per fact, written before anyone acts on it.
"""

import os
import uuid
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import optuna
from optuna.storages import JournalStorage
from optuna.trial import FrozenTrial, TrialState

from mpnet.reading import alike, parse_yaml
from sweeper.config.space import SearchSpace
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.errors import SweepError
from sweeper.importing import importing
from sweeper.ledger.adviser import Adviser
from sweeper.ledger.entries import WARM_START, is_own, rerun_record, trial_record
from sweeper.ledger.journal import JournalFile
from sweeper.ledger.reruns import RerunStage
from sweeper.ledger.samplers import build_sampler, distributions
from sweeper.ledger.search import Order, SearchStage, as_given
from sweeper.results.facts import Facts, facts_of
from sweeper.results.records import Rerun, RerunRecord, TrialRecord

JOURNAL = "study.journal"
_SEARCH, _TEST = "search", "test"  # the studies in it
_HERE = "{folder}"
_BESIDE = "beside:"  # a database file, by its path from the folder of the sweep

optuna.logging.set_verbosity(optuna.logging.WARNING)


class Ledger:
    """The journal of a sweep's folder, read once; opens in optuna-dashboard as it is.

    Nothing is written before `begin`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = journal = JournalFile(folder / JOURNAL)
        self.together = journal.together
        try:
            with importing():  # nothing that is read is garbage either
                self._storage = JournalStorage(journal)
        except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError) as error:
            # Only what was written before lines had checks can be wrong and look right.
            raise SweepError(
                f"{folder / JOURNAL}: line {journal.n_read} must be one of Optuna's, but is "
                f"damaged ({type(error).__name__}: {error}); mend it, or take it out."
            ) from error

    def mend(self) -> str:
        """Replace a journal that is damaged by what is left of it; gives a line that says so."""
        aside = self._journal.mend()
        return f"{self.folder / JOURNAL}: mended; as it was, it is in {aside}." if aside else ""

    # The sweep

    @property
    def has_begun(self) -> bool:
        """Whether there is a sweep to go on with."""
        return _SEARCH in self._names() and "sweep" in self._about()

    @property
    def sweep(self) -> Sweep:
        """The sweep as it was started."""
        about = self._about()
        return parse_sweep(parse_yaml(about["sweep"]), about["name"])

    @property
    def sweep_id(self) -> str:
        """An identity, different for every sweep ever started."""
        return str(self._about()["id"])

    @property
    def places(self) -> list[str]:
        """The lines that say where to look at a finished sweep; none before its end."""
        here = str(self.folder.resolve())
        return [line.replace(_HERE, here) for line in self._about().get("places", ())]

    @places.setter
    def places(self, lines: Sequence[str]) -> None:
        here = str(self.folder.resolve())  # which may be another one when they are read
        kept = [line.replace(here, _HERE) for line in lines]
        self._load(_SEARCH).set_user_attr("places", kept)

    @property
    def tracking_uri(self) -> str | None:
        """The MLflow store, wherever the environment points now; None before the first trial."""
        uri = self._about().get("tracking_uri") if self.has_begun else None
        if uri and uri.startswith(_BESIDE):
            return f"sqlite:///{(self.folder.resolve() / uri.removeprefix(_BESIDE)).resolve()}"
        return uri

    @tracking_uri.setter
    def tracking_uri(self, uri: str) -> None:
        if uri.startswith("sqlite:////"):  # relative, so that folders can be moved together
            path = os.path.relpath(uri.removeprefix("sqlite:///"), self.folder.resolve())
            uri = f"{_BESIDE}{path}"
        if uri != self._about().get("tracking_uri"):
            self._load(_SEARCH).set_user_attr("tracking_uri", uri)

    @property
    def bound_runs(self) -> list[dict[str, Any]]:
        """Runs that stand for all of the space, as they were resolved before the first trial."""
        return list(self._about().get("runs", ()))

    @bound_runs.setter
    def bound_runs(self, runs: Sequence[Mapping[str, Any]]) -> None:
        if self.bound_runs != list(runs):
            self._load(_SEARCH).set_user_attr("runs", list(runs))

    def begin(self, sweep: Sweep) -> None:
        """Write down what is to be done, with an identity of its own if it is new.

        The text comes last: a sweep has begun when it is there.
        """
        study = self._study(_SEARCH, sweep.objective)
        about = study.user_attrs
        if "sweep" not in about:
            study.set_user_attr("id", about.get("id", uuid.uuid4().hex))
            study.set_user_attr("name", sweep.name)
            for folder in sweep.settings.warm_start:
                _tell_earlier(study, sweep.space, open_ledger(Path(folder)))
        if about.get("sweep") != sweep.text:
            study.set_user_attr("sweep", sweep.text)

    # Its two stages

    def search(self, sweep: Sweep, order: Order = as_given) -> SearchStage:
        """The search, to be worked on or to be counted; nothing is written by opening it.

        Args:
            sweep: what is asked for.
            order: in which the points of a grid are tried; by default that of the file.
        """
        study = self._load(_SEARCH)
        # The same seed on a study that has trials would draw the same points again.
        seed = sweep.settings.seed + len(study.get_trials(deepcopy=False))
        sampler = build_sampler(sweep.sampler.name, sweep.space, seed)
        adviser = Adviser(sampler, sweep.space, len(sweep.objective))
        return SearchStage(study, self._storage, sweep, adviser, order)

    def reruns(self, wanted: Sequence[Rerun]) -> RerunStage:
        """The reruns on the test sets, to be worked on."""
        return RerunStage(self._study(_TEST, ("acc",)), self._storage, wanted)

    def trial_records(self) -> list[TrialRecord]:
        """The trials of the search, without what other sweeps told it."""
        return [trial_record(trial) for trial in self._trials(_SEARCH)]

    def rerun_records(self) -> list[RerunRecord]:
        """The reruns on the test sets."""
        return [rerun_record(trial) for trial in self._trials(_TEST)]

    def facts(self) -> Facts:
        """All that is known of the sweep as it was started."""
        return facts_of(self.sweep, self.trial_records(), self.rerun_records())

    def _trials(self, name: str) -> list[FrozenTrial]:
        if name not in self._names():
            return []
        return [t for t in self._load(name).get_trials(deepcopy=False) if is_own(t)]

    def earlier_trials(self) -> list[FrozenTrial]:
        """The finished trials of the search, for another sweep's sampler."""
        return self._load(_SEARCH).get_trials(deepcopy=False, states=(TrialState.COMPLETE,))

    def _study(self, name: str, objective: Sequence[str]) -> optuna.Study:
        if name not in self._names():
            upwards: list[Literal["minimize", "maximize"]] = ["maximize"] * len(objective)
            optuna.create_study(study_name=name, storage=self._storage, directions=upwards)
        study = self._load(name)
        if study.metric_names is None:  # of a journal that is new, or older than the names
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
                study.set_metric_names(list(objective))
        return study

    def _load(self, name: str) -> optuna.Study:
        return optuna.load_study(study_name=name, storage=self._storage)

    def _names(self) -> list[str]:
        return [study.study_name for study in self._storage.get_all_studies()]

    def _about(self) -> Mapping[str, Any]:
        return self._load(_SEARCH).user_attrs


def open_ledger(folder: Path) -> Ledger:
    """The ledger of a sweep that has begun.

    Raises:
        SweepError: there is none.
    """
    if (folder / JOURNAL).exists():
        ledger = Ledger(folder)
        if ledger.has_begun:
            return ledger
    hint = "" if folder.exists() else alike(folder)
    raise SweepError(f"{folder}: must be the folder of a sweep, but none has begun there.{hint}")


def _tell_earlier(study: optuna.Study, space: SearchSpace, earlier: Ledger) -> None:
    """Give the finished trials of another sweep to the sampler, as far as they fit the space."""
    told = [trial.user_attrs.get(WARM_START) for trial in study.get_trials(deepcopy=False)]
    for trial in earlier.earlier_trials():
        name = f"{earlier.folder}#{trial.number}"
        has_place = not space.faults(trial.params)
        if has_place and len(trial.values) == len(study.directions) and name not in told:
            values = space.typed(trial.params)
            study.add_trial(
                optuna.create_trial(
                    params=values,
                    distributions=distributions(space, values),
                    values=trial.values,
                    user_attrs={WARM_START: name},
                )
            )
