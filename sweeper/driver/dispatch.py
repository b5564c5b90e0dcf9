"""One Ray Tuner for a whole queue: Tune asks, the queue answers and is told what became of it."""

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.execution import class_cache
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, MedianStoppingRule, TrialScheduler
from ray.tune.search import Searcher

from sweeper.driver.active import ActiveSweep
from sweeper.driver.stopping import signals_kept
from sweeper.driver.sweep_queue import SweepQueue
from sweeper.driver.watching import Lost, RayWatch, Silence
from sweeper.execution.assignment import AnyAssignment
from sweeper.scratch import scratch_folder

# Tune sets a variable for PyTorch Lightning in every trial, and Ray starts a process for whoever
# wants another environment: without it trials get the workers that are there already. There is no
# public way to leave it out.
class_cache.DEFAULT_ENV_VARS.clear()

# With nothing running Tune waits up to ten minutes for a trial, deaf to all else: also while one
# is about to start in a worker that is used again. A second will do; there is no public way.
TuneController._update_trial_queue.__defaults__ = (False, 1)

Trainable = Callable[[dict[str, Any]], object]


def run_queue(queue: SweepQueue, trainable: Trainable, n_devices: int, watch: RayWatch) -> None:
    """Run all that the queue gives; returns early if interrupted.

    Args:
        queue: of sweeps at work.
        trainable: what runs an assignment, in a worker.
        n_devices: workers that may start side by side.
        watch: over Ray itself.
    """
    os.environ["TUNE_MAX_PENDING_TRIALS_PG"] = str(n_devices)
    # Tune's own files are never read.
    with scratch_folder() as folder, signals_kept(), suppress(Lost, _Over):
        _tuner(queue, trainable, str(folder), watch).fit()


class _Over(Exception):
    """A way out of Tune, which would write down all trials at its own end: a third of its time."""


def _tuner(queue: SweepQueue, trainable: Trainable, folder: str, watch: RayWatch) -> tune.Tuner:
    return tune.Tuner(
        tune.with_resources(trainable, _resources),
        tune_config=tune.TuneConfig(
            search_alg=_Questions(queue),
            scheduler=_Schedulers(queue),
            num_samples=-1,  # the queue says when there is enough
            reuse_actors=True,
            trial_dirname_creator=_folder,
        ),
        run_config=tune.RunConfig(
            name="queue",
            storage_path=folder,
            verbose=0,
            callbacks=[_Answers(queue, watch)],
            failure_config=tune.FailureConfig(max_failures=0),  # the ledger counts the tries
        ),
    )


def _assignment(trial: Trial) -> AnyAssignment:
    return trial.config["assignment"]


def _folder(trial: Trial) -> str:
    """One that no other trial of the queue has; Tune would say so of each."""
    told = _assignment(trial)
    return f"{told.sweep}-{told.stage}-{told.folder}"


class _NotPickled:
    """A part of the driver alone; Tune pickles all it is given, for a restore that never comes."""

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __deepcopy__(self, memo: object) -> "_NotPickled":
        return self


class _Questions(_NotPickled, Searcher):
    """What to run next."""

    def __init__(self, queue: SweepQueue) -> None:
        super().__init__()
        self._queue = queue

    def suggest(self, trial_id: str) -> Any:
        """The next assignment, None for nothing now, or that all is done."""
        assignment = self._queue.next()
        if assignment is not None:
            return {"assignment": assignment}
        return str(Searcher.FINISHED) if self._queue.is_over else None

    def on_trial_complete(self, trial_id: str, *args: Any, **kwargs: Any) -> None:
        """Do nothing: `_Answers` is told the same, with the trial itself."""

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: the ledger is what a sweep is resumed from."""

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: there is nothing that was saved."""


class _Answers(_NotPickled, tune.Callback):
    """What became of it."""

    def __init__(self, queue: SweepQueue, watch: RayWatch) -> None:
        self._queue, self._watch = queue, watch
        self._silence = Silence(lambda t: 60 * queue.settings_of(_assignment(t)).silent_minutes)
        self._silent: dict[str, str] = {}  # why a trial was ended, by its id
        self._failed: set[str] = set()  # trials by their ids

    def on_step_begin(self, iteration: int, trials: list[Trial], **_: Any) -> None:
        """Look whether anything still moves, and whether anything is left to do."""
        if self._queue.is_cut_off:
            raise Lost
        if self._queue.is_over:
            raise _Over
        for trial in self._silence.broken(trials):
            self._break_off(trial)
        for trial in trials:
            # Tune is silent about one that got the worker of another that had not ended yet.
            if trial.status == Trial.ERROR and trial.trial_id not in self._failed:
                self.on_trial_error(iteration, trials, trial)

    def _break_off(self, trial: Trial) -> None:
        """End a trial that is silent, as a crash does; one without a worker can only wait."""
        minutes = self._queue.settings_of(_assignment(trial)).silent_minutes
        text = f"no sign of life for {minutes:g} minutes (sweep.silent_minutes)"
        actor = trial.temporary_state.ray_actor
        if actor is None:
            self._queue.silent(
                _assignment(trial), f"{text}; Ray has no worker for it: `ray status`"
            )
            return
        self._queue.silent(
            _assignment(trial), f"{text}, though Ray says {trial.status}; it is ended"
        )
        self._silent[trial.trial_id] = text
        ray.kill(actor)

    def on_trial_start(self, iteration: int, trials: list[Trial], trial: Trial, **_: Any) -> None:
        """A worker has it."""
        self._silence.hear(trial)

    def on_trial_result(
        self,
        iteration: int,
        trials: list[Trial],
        trial: Trial,
        result: dict[str, Any],
        **_: Any,
    ) -> None:
        """Only shown: what a trial reports on the way decides nothing here, see `_Schedulers`."""
        self._silence.hear(trial)
        self._queue.reported(_assignment(trial), result)

    def on_trial_complete(
        self, iteration: int, trials: list[Trial], trial: Trial, **_: Any
    ) -> None:
        """It has returned, or a scheduler has stopped it."""
        told = trial.last_result
        outcome = {key: told[key] for key in (*_ENDS, "step", "R") if key in told}
        if "outcome" in outcome:
            outcome["outcome"] = json.loads(outcome["outcome"])
        self._queue.ended(_assignment(trial), outcome)

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **_: Any) -> None:
        """It has raised, or its worker, its node or all of Ray is gone."""
        self._failed.add(trial.trial_id)
        if lost := self._watch.loss():
            self._queue.ended(_assignment(trial), {"halt": lost})
            return
        reason = self._silent.pop(trial.trial_id, "") or _reason(Path(trial.error_file))
        self._queue.ended(_assignment(trial), {"crash": reason})


_ENDS = ("outcome", "failure", "halt", "crowded")  # what the last report of a trial may hold


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


def _resources(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
    """What a trial is given; a bundle must not name what it has none of."""
    around = config["assignment"].surroundings
    given = {"CPU": around.cpu, "GPU": around.gpu}
    return tune.PlacementGroupFactory([{name: n for name, n in given.items() if n}])


class _Schedulers(_NotPickled, FIFOScheduler):
    """Each trial is judged by the scheduler of its own sweep, by its clock and by its bound."""

    def __init__(self, queue: SweepQueue) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._queue = queue
        self._by_sweep: dict[int, TrialScheduler] = {}

    def _scheduler(self, trial: Trial) -> TrialScheduler:
        assignment = _assignment(trial)
        if assignment.stage == "test":
            return _EVERY_TRIAL_ENDS
        if assignment.sweep not in self._by_sweep:
            sweep = self._queue.sweeps[assignment.sweep]
            self._by_sweep[assignment.sweep] = _scheduler_of(sweep)
        return self._by_sweep[assignment.sweep]

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Tell the scheduler of its sweep."""
        self._scheduler(trial).on_trial_add(tune_controller, trial)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Tell the scheduler of its sweep."""
        self._scheduler(trial).on_trial_error(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        """Whether it goes on."""
        assignment, is_ending = _assignment(trial), any(end in result for end in _ENDS)
        if not is_ending and (
            self._queue.is_late(assignment)
            or self._queue.is_unwanted(assignment)
            or self._queue.is_hopeless(assignment, result)
        ):
            return TrialScheduler.STOP
        return self._scheduler(trial).on_trial_result(tune_controller, trial, result)

    def on_trial_complete(
        self, tune_controller: Any, trial: Trial, result: dict[str, Any]
    ) -> None:
        """Tell the scheduler of its sweep."""
        self._scheduler(trial).on_trial_complete(tune_controller, trial, result)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Tell the scheduler of its sweep."""
        self._scheduler(trial).on_trial_remove(tune_controller, trial)


_EVERY_TRIAL_ENDS = FIFOScheduler()


def _scheduler_of(sweep: ActiveSweep) -> TrialScheduler:
    """Trials are compared at the same step, which is the same epoch of the same task.

    A bound compares tasks instead, and is asked beside this one: Tune has nothing like it.
    """
    name, n_steps = sweep.sweep.settings.scheduler, sweep.n_steps
    grace = max(1, n_steps // 5)
    common: dict[str, Any] = {"time_attr": "step", "metric": "score", "mode": "max"}
    if name == "asha":
        # One more than a trial has, or its last report would count as one to be stopped at.
        return ASHAScheduler(max_t=n_steps + 1, grace_period=grace, **common)
    if name == "median":
        return MedianStoppingRule(grace_period=grace, **common)
    return FIFOScheduler()
