"""One trial: sampled values to runs of `mpnet`, reported to Tune and recorded in MLflow."""

import errno
import json
import math
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sweeper.importing import importing

with importing():  # PyTorch and Tune: every new worker waits for them
    import ray
    from ray import tune

    from mpnet.checkpoint import Checkpoints
    from mpnet.config import RunConfig, parse_run
    from mpnet.continual import Results, run
    from mpnet.errors import DataMissing, Dead, Diverged
    from mpnet.machine import limit_threads
    from mpnet.metrics import acc, bwt
    from mpnet.results import as_lists, selectivity_by_task, summary_line, write_results
    from mpnet.training import EpochReport
    from sweeper.recording import Recorder, Subject
    from sweeper.scratch import scratch_folder
    from sweeper.space import Values, with_values
    from sweeper.storage import (
        MEMORY,
        below,
        copy_folder,
        digest_of_state,
        is_whole,
        restore,
        run_folder,
    )
    from sweeper.study import Stage
    from sweeper.tracking import Tracking

_CURVE_POINTS = 500


@dataclass(frozen=True)
class Job:
    """What all trials of a stage share; it travels to every worker once.

    Args:
        stage: "search" judges on validation data, "test" on the test sets.
        run: the fixed block.
        storage: folder or URI below which Tune keeps what trials save.
        tracking: MLflow, or None for no record.
        seeds: of a search, one per repeat.
        chosen: for reruns, the values of each chosen trial by its number.
        checkpoint_epochs: save every so many epochs of a task,
        checkpoint_minutes: and after this much time.
        runs: folder or URI for the finished runs of this stage; None to keep none.
        report_seconds: least time between reports of epochs; 0 where a scheduler needs them all.
        about: versions and the like, kept with every trial.
    """

    stage: Stage
    run: Mapping[str, Any]
    storage: str
    tracking: Tracking | None
    seeds: tuple[int, ...] = (0,)
    chosen: Mapping[int, Values] = field(default_factory=dict)
    checkpoint_epochs: int = 10
    checkpoint_minutes: float = 10.0
    runs: str | None = None
    report_seconds: float = 0.5
    about: Mapping[str, str] = field(default_factory=dict)

    def configurations(self, values: Values, device: str) -> list[RunConfig]:
        """One per seed; the split follows from the stage and from nothing else."""
        is_search = self.stage == "search"
        sampled = values if is_search else self.chosen[values["configuration"]]
        seeds = self.seeds if is_search else (values["seed"],)
        split = "validation" if is_search else "test"
        block = {**with_values(self.run, sampled), "split": split, "device": device}
        return [parse_run({**block, "seed": seed}) for seed in seeds]


def run_trial(config: dict[str, Any], job: Job) -> None:
    """What Tune calls in a worker: train all seeds, report on the way and at the end."""
    with scratch_folder() as folder:
        _Trial(config["key"], config["values"], job, folder).run()


class _Memory:
    """What a trial knows besides the state of the run in training; saved beside it."""

    def __init__(self) -> None:
        self.finished: list[dict[str, Any]] = []  # one outcome per seed
        self.curve: list[list[float]] = []  # of the seed in training
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
        vars(self).update({name: content[name] for name in vars(self)})


class _Checkpoints(Checkpoints):
    """Saves through Tune, so that another node can take over."""

    def __init__(self, trial: "_Trial") -> None:
        job = trial.job
        super().__init__(
            trial.folder, job.checkpoint_epochs, job.checkpoint_minutes, job.runs is not None
        )
        self.trial = trial

    def save(self, state: dict[str, Any]) -> None:
        """Write the state, and hand it over with what else the trial knows."""
        super().save(state)
        self.trial.save()


class _Trial:
    """One configuration, all its seeds."""

    def __init__(self, key: str, values: Values, job: Job, folder: Path) -> None:
        self.key, self.job, self.folder = key, job, folder
        self.memory = self._recalled()
        self.start, self.reported_at = time.monotonic() - self.memory.seconds, -math.inf
        resources = tune.get_context().get_trial_resources().required_resources
        limit_threads(max(1, int(resources.get("CPU", 0))))
        device = "cuda" if resources.get("GPU", 0) > 0 else "cpu"
        self.configurations = job.configurations(values, device)
        subject = Subject(
            stage=job.stage,
            key=key,
            values=values,
            configuration=self.configurations[0],
            node=f"{socket.gethostname()} {_node_id()[:6]}",
            about={**job.about, "resources": dict(resources)},
            resumed_at=self.memory.latest["step"],
        )
        self.record = Recorder(job.tracking, subject, self.memory.pending)

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
        except OSError as error:
            self.record.close("KILLED", str(error))
            if not _is_full(error):
                raise
            # Not the trial's fault, and every other one would meet it too.
            tune.report({**self.memory.latest, "halt": f"{self.job.storage}: {error}"})
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
        tune.report(dict(self.memory.latest), checkpoint=tune.Checkpoint(str(self.folder)))

    def _recalled(self) -> _Memory:
        memory = _Memory()
        checkpoint = tune.get_checkpoint()
        if checkpoint is not None:
            checkpoint.to_directory(str(self.folder))
        if is_whole(self.folder) or restore(self.job.storage, self.key, self.folder):
            memory.read(self.folder)
        return memory

    # Training

    def _run_seed(self, configuration: RunConfig) -> None:
        checkpoints = _Checkpoints(self)
        results = run(configuration, self._on_task_end, self._on_epoch_end, checkpoints)
        metrics = {k: v for k, v in summary_line(results).items() if k != "R"}
        curve = self.memory.curve
        outcome = {
            "seed": configuration.seed,
            "metrics": {name: value for name, value in metrics.items() if math.isfinite(value)},
            "R": as_lists(results.R),
            "curve": curve[:: math.ceil(len(curve) / _CURVE_POINTS)],
            "selectivity": selectivity_by_task(results),
        }
        self.memory.finished.append(outcome)
        self.memory.curve = []
        self._keep(configuration, results)
        checkpoints.delete()
        if len(self.memory.finished) < len(self.configurations):
            self.save()

    def _keep(self, configuration: RunConfig, results: Results) -> None:
        """Leave a run folder, as `python -m mpnet` does, where it can be analysed."""
        if self.job.runs is None:
            return
        name = run_folder(f"{self.job.stage}-{self.key}", configuration.seed)
        with tempfile.TemporaryDirectory(prefix="run-") as place:
            write_results(Path(place), configuration, results)
            for state in self.folder.glob("*.pt"):
                shutil.copy(state, place)
            copy_folder(place, below(self.job.runs, name))

    def _on_epoch_end(self, report: EpochReport) -> None:
        n_epochs = self.configurations[0].training.epochs
        step = report.task * n_epochs + report.epoch + 1
        self.memory.curve.append([step, round(report.loss, 6), report.validation_accuracy])
        known, t = self.memory.latest["acc"], report.task
        score = (known * t + report.validation_accuracy) / (t + 1)
        step += len(self.memory.finished) * report.n_tasks * n_epochs
        self.memory.latest |= {"score": score, "step": step, "task": t}
        self.record.epoch({"loss": report.loss, "accuracy": report.validation_accuracy}, step)
        self._report(is_urgent=False)

    def _on_task_end(self, t: int, results: Results) -> None:
        R = results.R[: t + 1, : t + 1]
        reached = {"acc": float(acc(R)), "bwt": float(bwt(R))}
        self.memory.latest |= {**reached, "score": reached["acc"]}
        by_task = {f"acc_task_{i + 1}": float(value) for i, value in enumerate(R[t])}
        step = len(self.memory.finished) * len(results.R) + t + 1
        found = results.selectivity[t]
        held = found.trunk.metrics() if found else {}
        self.record.task({**reached, **by_task, **held}, step)
        self._report(is_urgent=True)

    def _report(self, is_urgent: bool) -> None:
        now = time.monotonic()
        if is_urgent or now - self.reported_at >= self.job.report_seconds:
            self.reported_at = now
            tune.report(dict(self.memory.latest))

    def _outcome(self) -> dict[str, Any]:
        seeds = self.memory.finished
        means = {
            name: _mean([s["metrics"].get(name) for s in seeds]) for name in seeds[0]["metrics"]
        }
        self.memory.latest |= {"acc": means["acc"], "bwt": means["bwt"], "score": means["acc"]}
        return {
            "metrics": {name: value for name, value in means.items() if value is not None},
            "seeds": [seed["seed"] for seed in seeds],
            "R": [seed["R"] for seed in seeds],
            "curves": [seed["curve"] for seed in seeds],
            "selectivity": [seed.get("selectivity", []) for seed in seeds],
            "seconds": time.monotonic() - self.start,
        }


def _node_id() -> str:
    return str(ray.get_runtime_context().get_node_id())


def _is_full(error: OSError) -> bool:
    """Whether a disk has no room; what passes through Arrow has the number in its text only."""
    return error.errno == errno.ENOSPC or os.strerror(errno.ENOSPC) in str(error)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
