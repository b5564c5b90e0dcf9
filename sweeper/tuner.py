"""A Tuner for what remains of a study."""

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ray import tune
from ray.tune.execution import class_cache
from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, MedianStoppingRule, TrialScheduler
from ray.tune.search import Searcher
from ray.tune.search.optuna import OptunaSearch

from sweeper.cluster import Share
from sweeper.records import State
from sweeper.space import Values
from sweeper.storage import below, folder_of, forget
from sweeper.study import Study, key_of
from sweeper.sweep import SweepSettings

# Tune sets a variable for PyTorch Lightning in every trial, and Ray starts a process for whoever
# wants another environment: without it trials get the workers that are there already.
class_cache.DEFAULT_ENV_VARS.clear()

Trainable = Callable[[dict[str, Any]], object]


class Listener(Protocol):
    """Who wants to know how a stage goes on."""

    def started(self, number: int, values: Values) -> None:
        """A trial has begun, perhaps not for the first time."""

    def reported(self, number: int, metrics: Mapping[str, Any]) -> None:
        """A trial says how far it is."""

    def ended(self, number: int, state: State) -> None:
        """A trial is over."""


class _Search(OptunaSearch):
    """OptunaSearch on the ledger: no point twice, and every end written down for what it is."""

    def __init__(self, study: Study, listener: Listener, storage: str, deadline: float) -> None:
        super().__init__(
            space=study.suggest,
            metric=list(study.search.objective),
            mode=["max"] * len(study.search.objective),
            sampler=study.study.sampler,
            study_name=study.study.study_name,
            storage=study.study._storage,
        )
        self.study, self.listener, self.storage = study, listener, storage
        self.deadline = deadline
        self.trials: dict[str, Trial] = {}  # Tune's own, by its own names

    def folder(self, trial: Trial) -> str:
        """Where a new trial saves; the one place where Tune shows a searcher its trials."""
        self.trials[trial.trial_id] = trial
        self.listener.started(trial.config["number"], trial.config["values"])
        return folder_of(trial.config["key"], trial.config["number"])

    def suggest(self, trial_id: str) -> Any:
        """The next configuration, or that there is none."""
        while self.study.wants_more():
            values = super().suggest(trial_id) or {}
            number = self._ot_trials[trial_id].number
            if self.study.accept(number, values):
                return {"number": number, "key": key_of(values), "values": values}
            del self._ot_trials[trial_id]
        return str(Searcher.FINISHED)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Only shown: what a trial reports on the way decides nothing here."""
        self.listener.reported(self.trials[trial_id].config["number"], result)

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Write down how a trial ended; an error comes when all retries are used up."""
        trial = self.trials.pop(trial_id)
        number = trial.config["number"]
        if error:
            self.study.fail(number, _reason(Path(trial.error_file)))
        else:
            self._ended(number, result or {})
        self._announce(number)

    def _ended(self, number: int, result: Mapping[str, Any]) -> None:
        if "outcome" in result:
            self.study.finish(number, json.loads(result["outcome"]))
        elif "failure" in result:
            self.study.fail(number, result["failure"])
        elif "halt" in result:
            self.study.halted = result["halt"]
            self.study.release(number)
        elif time.time() >= self.deadline:
            self.study.release(number)
        else:
            at = f"at step {result.get('step', 0)}"
            self.study.stop(number, f"stopped by the scheduler {at}")

    def _announce(self, number: int) -> None:
        record = self.study.record(number)
        if record.state != "interrupted":
            forget(self.storage, record.key)  # the ledger has what came of it
        self.listener.ended(number, record.state)

    def save(self, checkpoint_path: str) -> None:
        """Nothing: the ledger is what a sweep is resumed from."""

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles all it is given, for a restore that never comes."""
        return {}

    def __deepcopy__(self, memo: object) -> "_Search":
        """Itself: Tune copies what names its folders for every trial."""
        return self


def _reason(file: Path) -> str:
    """The line that holds the error itself; Tune's copy in the storage comes later than this."""
    try:
        text = file.read_text()
    except OSError:
        text = ""
    tries = re.split(r"^Failure # .*$", text, flags=re.MULTILINE)
    lines = tries[-1].strip().splitlines() or ["the worker died"]
    # A traceback ends with it; where a worker or its memory is gone, hints follow it.
    is_traceback = any(line.startswith("  File ") for line in lines)
    return lines[-1 if is_traceback else 0].strip()


def build_tuner(
    study: Study,
    trainable: Trainable,
    share: Share,
    settings: SweepSettings,
    storage: str,
    listener: Listener,
    n_steps: int = 1,
) -> tune.Tuner:
    """A Tuner that gives a study what it lacks; it ends early if interrupted or out of time.

    Args:
        study: of a stage of a sweep.
        trainable: what runs a trial.
        share: what each is given.
        settings: of the sweep.
        storage: folder or URI for what trials save.
        listener: is told what happens.
        n_steps: steps of a whole trial, for schedulers.
    """
    stage = study.search.stage
    seconds = settings.hours * 3600 if settings.hours and stage == "search" else None
    deadline = time.time() + seconds if seconds else float("inf")
    search = _Search(study, listener, below(storage, stage), deadline)
    return tune.Tuner(
        tune.with_resources(trainable, {"CPU": share.cpu, "GPU": share.gpu}),
        tune_config=tune.TuneConfig(
            search_alg=search,
            scheduler=_scheduler(settings.scheduler if stage == "search" else "none", n_steps),
            num_samples=-1,  # the study says when there is enough
            max_concurrent_trials=None if share.can_grow else share.at_once,
            time_budget_s=seconds,
            reuse_actors=True,
            trial_dirname_creator=search.folder,
        ),
        run_config=tune.RunConfig(
            name=stage,
            storage_path=storage,
            verbose=0,
            failure_config=tune.FailureConfig(max_failures=settings.retries),
            checkpoint_config=tune.CheckpointConfig(num_to_keep=1),
        ),
    )


def _scheduler(name: str, n_steps: int) -> TrialScheduler:
    """Trials are compared at the same step, which is the same epoch of the same task."""
    grace = max(1, n_steps // 5)
    common: dict[str, Any] = {"time_attr": "step", "metric": "score", "mode": "max"}
    if name == "asha":
        # One more than a trial has, or its last report would count as one to be stopped at.
        return ASHAScheduler(max_t=n_steps + 1, grace_period=grace, **common)
    if name == "median":
        return MedianStoppingRule(grace_period=grace, **common)
    return FIFOScheduler()
