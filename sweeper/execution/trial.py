"""One trial or rerun: an assignment to runs of `mpnet`, told to Tune and to MLflow."""

import errno
import json
import math
import os
import shutil
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sweeper.importing import importing
from sweeper.scratch import scratch_folder

with importing():  # PyTorch and Tune: every new worker waits for them
    import ray
    from ray import tune

    from mpnet.checkpoint import Checkpoints
    from mpnet.config import RunConfig, parse_run
    from mpnet.continual import Results, run
    from mpnet.environment import environment
    from mpnet.errors import DataMissing, Dead, Diverged
    from mpnet.machine import OutOfMemory, free_device_memory, limit_threads
    from mpnet.metrics import acc, bwt
    from mpnet.results import as_lists, selectivity_by_task, summary_line, write_results
    from mpnet.training import EpochReport
    from sweeper.execution.assignment import AnyAssignment
    from sweeper.execution.recording import Recorder, Subject
    from sweeper.execution.shared_tasks import SharedTasks
    from sweeper.execution.storage import (
        MEMORY,
        below,
        copy_folder,
        digest_of_state,
        keep_state,
        restore,
        run_folder,
    )

_CURVE_POINTS = 500


def run_trial(config: Mapping[str, Any]) -> None:
    """What Tune calls in a worker: train all seeds, report on the way and at the end."""
    # Stopped early, it still tells MLflow; after Tune's two seconds the next trial would fail.
    os.environ.setdefault("TUNE_FUNCTION_THREAD_TIMEOUT_S", "60")
    with scratch_folder() as folder:
        _Trial(config["assignment"], folder).run()
    free_device_memory()  # the process stays, for other trials; so would what it has taken


class _Memory:
    """What a trial knows besides the state of the run in training; saved beside it."""

    def __init__(self) -> None:
        self.finished: list[dict[str, Any]] = []  # one outcome per seed
        self.curve: list[list[float]] = []  # of the seed in training
        self.origin: dict[str, Any] | None = None  # of its first task
        self.latest: dict[str, Any] = {"score": 0.0, "acc": 0.0, "bwt": 0.0, "step": 0, "task": 0}
        self.seconds = 0.0
        self.pending: list[Any] = []  # what MLflow has not got yet

    def write(self, folder: Path) -> None:
        """Say what the state beside it must be, so that a torn copy is known as one."""
        content = {**vars(self), "state": digest_of_state(folder)}
        (folder / MEMORY).write_text(json.dumps(content))

    def read(self, folder: Path) -> None:
        """Take up what was written."""
        content = json.loads((folder / MEMORY).read_text())
        vars(self).update({name: content[name] for name in vars(self) if name in content})


class _Checkpoints(Checkpoints):
    """Saves where every node sees it, so that another one can take over."""

    def __init__(self, trial: "_Trial") -> None:
        around = trial.assignment.surroundings
        super().__init__(
            trial.folder,
            around.checkpoint_epochs,
            around.checkpoint_minutes,
            keeps_task_ends=trial.assignment.kept_below is not None,
        )
        self.trial = trial

    def save(self, state: dict[str, Any]) -> None:
        """Write the state, and hand it over with what else the trial knows."""
        super().save(state)
        self.trial.save()


class _Trial:
    """One configuration, all its seeds."""

    def __init__(self, assignment: AnyAssignment, folder: Path) -> None:
        self.assignment, self.folder = assignment, folder
        self.place, self.n_saved = below(assignment.storage, assignment.folder), 0
        shared = assignment.surroundings.first_tasks
        self.first_tasks = None if shared is None else SharedTasks(shared)
        self.memory = self._recalled()
        self.start, self.reported_at = time.monotonic() - self.memory.seconds, -math.inf
        resources = tune.get_context().get_trial_resources().required_resources
        limit_threads(max(1, int(resources.get("CPU", 0))))
        self.configurations = [parse_run(assignment.resolved(s)) for s in assignment.seeds]
        subject = Subject(
            assignment=assignment,
            configuration=self.configurations[0],
            node=f"{socket.gethostname()} {_node_id()[:6]}",
            resources=dict(resources),
            resumed_at=self.memory.latest["step"],
        )
        self.record = Recorder(subject, self.memory.pending)

    def run(self) -> None:
        """Train what is left, and tell Tune the outcome, or why there is none."""
        try:
            for configuration in self.configurations[len(self.memory.finished) :]:
                self._run_seed(configuration)
            outcome = self._outcome()
            self.record.outcome(outcome)
        except (Diverged, Dead, DataMissing) as error:
            # The same seed would come to the same end, so Tune is not asked to try again.
            self.record.close("FAILED", str(error))
            tune.report({**self.memory.latest, "failure": str(error)})
            return
        except OutOfMemory as error:
            self.record.close("KILLED", str(error))
            tune.report({**self.memory.latest, "crowded": str(error).partition("\n")[0]})
            return
        except OSError as error:
            self.record.close("KILLED", str(error))
            if not (advice := _advice(error)):
                raise
            # Not the trial's fault, and every other one would meet it too.
            text = f"{advice}, then go on. ({self.assignment.storage}: {error})"
            tune.report({**self.memory.latest, "halt": text})
            return
        except Exception as error:
            self.record.close("FAILED", f"{type(error).__name__}: {error}")
            raise
        except BaseException:  # Tune ends a trial by raising SystemExit in it
            self.record.close("KILLED", "stopped before its end")
            raise
        self.record.close("FINISHED")
        tune.report({**self.memory.latest, "outcome": json.dumps(outcome)})

    # Saving

    def save(self) -> None:
        """Hand over all that is needed to go on."""
        self.memory.seconds = time.monotonic() - self.start
        self.memory.pending = self.record.pending
        self.memory.write(self.folder)
        self.n_saved = keep_state(self.folder, self.place, self.n_saved)
        tune.report(dict(self.memory.latest))

    def _recalled(self) -> _Memory:
        memory = _Memory()
        if restore(self.assignment.storage, self.assignment.key, self.folder):
            memory.read(self.folder)
        return memory

    # Training

    def _run_seed(self, configuration: RunConfig) -> None:
        checkpoints = _Checkpoints(self)
        results = run(
            configuration, self._on_task_end, self._on_epoch_end, checkpoints, self.first_tasks
        )
        metrics = {k: v for k, v in summary_line(results).items() if k != "R"}
        curve = self.memory.curve
        outcome = {
            "seed": configuration.seed,
            "metrics": {name: value for name, value in metrics.items() if math.isfinite(value)},
            "R": as_lists(results.R),
            "data_sets": list(results.data_sets),
            "curve": curve[:: math.ceil(len(curve) / _CURVE_POINTS)],
            "selectivity": selectivity_by_task(results),
            "origin": self.memory.origin,
        }
        self.memory.finished.append(outcome)
        self.memory.curve, self.memory.origin = [], None
        self._keep(configuration, results)
        checkpoints.delete()
        if len(self.memory.finished) < len(self.configurations):
            self.save()

    def _keep(self, configuration: RunConfig, results: Results) -> None:
        """Leave a run folder, as `python -m mpnet` does, where it can be analysed."""
        place = self.assignment.kept_below
        if place is None:
            return
        name = run_folder(self.assignment.run_key, configuration.seed)
        with scratch_folder() as folder:
            write_results(folder, configuration, results)
            for state in self.folder.glob("*.pt"):
                shutil.copy(state, folder)
            copy_folder(str(folder), below(place, name))

    def _on_epoch_end(self, report: EpochReport) -> None:
        n_epochs = self.configurations[0].training.epochs
        step = report.task * n_epochs + report.epoch + 1
        self.memory.curve.append([step, round(report.loss, 6), report.validation_accuracy])
        known, t = self.memory.latest["acc"], report.task
        score = (known * t + report.validation_accuracy) / (t + 1)
        step += len(self.memory.finished) * report.n_tasks * n_epochs
        self.memory.latest |= {"score": score, "step": step, "task": t}
        place = {"seed": len(self.memory.finished), "n_tasks": report.n_tasks}
        self.memory.latest |= {**place, "epoch": report.epoch, "n_epochs": n_epochs}
        if report.epoch + 1 < n_epochs:  # of the last one the end of the task knows more
            self.record.acc_so_far(score, step)
        self.record.epoch({"loss": report.loss, "accuracy": report.validation_accuracy}, step)
        self._report(is_urgent=False)

    def _on_task_end(self, t: int, results: Results) -> None:
        R = results.R[: t + 1, : t + 1]
        if t == 0 and self.first_tasks is not None:
            self.memory.origin = self.first_tasks.origin
        reached = {"acc": float(acc(R)), "bwt": float(bwt(R))}
        matrices = [*(seed["R"] for seed in self.memory.finished), as_lists(R)]
        # As text, which Tune hands on as it is.
        self.memory.latest |= {**reached, "score": reached["acc"], "R": json.dumps(matrices)}
        by_task = {f"acc_task_{i + 1}": float(value) for i, value in enumerate(R[t])}
        step = len(self.memory.finished) * len(results.R) + t + 1
        found = results.selectivity[t]
        held = found.trunk.metrics() if found else {}
        self.record.acc_so_far(reached["acc"], self.memory.latest["step"])
        self.record.task({**reached, **by_task, **held}, step)
        self._report(is_urgent=True)

    def _report(self, is_urgent: bool) -> None:
        now = time.monotonic()
        if is_urgent or now - self.reported_at >= self.assignment.surroundings.report_seconds:
            self.reported_at = now
            tune.report(dict(self.memory.latest))

    def _outcome(self) -> dict[str, Any]:
        seeds = self.memory.finished
        means = {
            name: _mean([s["metrics"].get(name) for s in seeds]) for name in seeds[0]["metrics"]
        }
        self.memory.latest |= {"acc": means["acc"], "bwt": means["bwt"], "score": means["acc"]}
        if len(seeds) > 1:
            self.record.acc_so_far(means["acc"], self.memory.latest["step"] + 1)
        return {
            "metrics": {name: value for name, value in means.items() if value is not None},
            "seeds": [seed["seed"] for seed in seeds],
            "R": [seed["R"] for seed in seeds],
            "data_sets": seeds[0].get("data_sets", []),
            "curves": [seed["curve"] for seed in seeds],
            "selectivity": [seed.get("selectivity", []) for seed in seeds],
            "first_tasks": [seed["origin"] for seed in seeds if seed.get("origin")],
            "versions": environment(),
            "seconds": time.monotonic() - self.start,
        }


def _node_id() -> str:
    return str(ray.get_runtime_context().get_node_id())


def _advice(error: OSError) -> str:
    """What to do about a disk that takes nothing; empty if an error is about something else."""
    # What passes through Arrow has the number in its text only.
    found = [n for n in _DISK if error.errno == n or os.strerror(n) in str(error)]
    return _DISK[found[0]] if found else ""


_FULL = "The storage is full; make space there"
_SHUT = "The storage cannot be written; put that right"
_GONE = "The storage is gone; bring it back"
_DISK = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EROFS: _SHUT, errno.EIO: _SHUT}
_DISK |= dict.fromkeys((errno.ENODEV, errno.ENXIO, errno.ESTALE, errno.ENOTCONN), _GONE)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
