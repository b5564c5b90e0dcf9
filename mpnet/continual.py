"""Algorithm 1: tasks in order, train, evaluate, fill R. No optimiser, no method names."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from mpnet.allocator import keep_freed_memory
from mpnet.benchmarks import TaskStream
from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig
from mpnet.evaluation import evaluate
from mpnet.first_tasks import FirstTasks
from mpnet.machine import precision_of_products
from mpnet.metrics import Matrix
from mpnet.selectivity import Selectivity
from mpnet.training import EpochReport, TaskTrainer

EpochEnd = Callable[[EpochReport], None]


class Results(NamedTuple):
    """What is known of every task i after every task t, as matrices [t, i]; NaN for i > t.

    Args:
        R: accuracy.
        calibration_error: see `metrics.calibration_error`.
        variance: mean predictive variance of the chosen class.
        selectivity: how the trunk is protected after every task t; None where it is not, or not
            yet.
        data_sets: of each task, where tasks are of several ones; else empty.
    """

    R: Matrix
    calibration_error: Matrix
    variance: Matrix
    selectivity: list[Selectivity | None]
    data_sets: tuple[str, ...] = ()

    @property
    def matrices(self) -> dict[str, Matrix]:
        """The fields that are matrices, by name."""
        others = ("selectivity", "data_sets")
        return {name: value for name, value in self._asdict().items() if name not in others}

    def copy(self) -> "Results":
        """A copy that is safe from what a run does next."""
        matrices = {name: matrix.copy() for name, matrix in self.matrices.items()}
        return Results(**matrices, selectivity=list(self.selectivity), data_sets=self.data_sets)


TaskEnd = Callable[[int, Results], None]


def run(
    config: RunConfig,
    on_task_end: TaskEnd = lambda t, results: None,
    on_epoch_end: EpochEnd = lambda report: None,
    checkpoints: Checkpoints | None = None,
    first_tasks: FirstTasks | None = None,
) -> Results:
    """Train all tasks of a benchmark in order and judge on the one split that `config` names.

    The callbacks are the only way out: what they do is the caller's business.

    Args:
        config: what to run.
        on_task_end: called with the task and the results so far; again if a crash came after it.
        on_epoch_end: called after every epoch.
        checkpoints: where to save the state and, if there is one already, to go on from.
        first_tasks: where to find the first task if it was trained before, or else to keep it;
            its epochs are reported all the same.
    """
    with precision_of_products(config.training.precision):
        return _Run(config, checkpoints, first_tasks).finish(on_task_end, on_epoch_end)


def identity_of(config: RunConfig, stream: TaskStream) -> dict[str, str]:
    """What must be the same for a state to belong to a run."""
    return {"configuration": config.identity(), "data": stream.fingerprint()}


class _Run:
    """Everything that changes in the course of a run, so that it can be saved and restored."""

    def __init__(
        self,
        config: RunConfig,
        checkpoints: Checkpoints | None,
        first_tasks: FirstTasks | None = None,
    ) -> None:
        device = config.torch_device()
        if device.type == "cpu":
            keep_freed_memory()
        torch.manual_seed(config.seed)
        self.config, self.checkpoints, self.first_tasks = config, checkpoints, first_tasks
        self.generator = torch.Generator().manual_seed(config.seed)
        stream = config.build_stream()
        self.identity = identity_of(config, stream)
        self.stream = stream.to(device)
        self.method = config.build_method(self.stream).to(device)
        n_tasks = len(self.stream)
        R, error, variance = (np.full((n_tasks, n_tasks), np.nan) for _ in range(3))
        unknown: list[Selectivity | None] = [None] * n_tasks
        self.results = Results(R, error, variance, unknown, self.stream.data_sets)
        self.task = 0
        self.trainer: TaskTrainer | None = None
        saved = checkpoints.load(self.identity) if checkpoints else None
        if saved is not None:
            self._restore(saved)

    def finish(self, on_task_end: TaskEnd, on_epoch_end: EpochEnd) -> Results:
        """Train what is left."""
        while self.task < len(self.stream):
            trainer = self._taken_over(on_epoch_end) or self._trained(on_epoch_end)
            trainer.finish()
            self._evaluate()
            self._see_protection()
            on_task_end(self.task, self.results.copy())
            self.task, self.trainer = self.task + 1, None
            self._save()
        return self.results

    def _trained(self, on_epoch_end: EpochEnd) -> TaskTrainer:
        trainer = self.trainer or self._new_trainer()
        while not trainer.is_finished:
            report = trainer.train_epoch(self.generator)
            on_epoch_end(report)
            if self.checkpoints and self.checkpoints.is_due(report.epoch):
                self.trainer = trainer
                self._save()
        self._keep_first_task(trainer)
        return trainer

    def _first_task_identity(self) -> str | None:
        """What a first task must have been trained with; None where there is nothing to share."""
        of_run = self.config.first_task_identity()
        if self.first_tasks is None or self.task > 0 or of_run is None:
            return None
        device = str(self.config.torch_device().type)
        return json.dumps([of_run, self.identity["data"], device, torch.__version__])

    def _taken_over(self, on_epoch_end: EpochEnd) -> TaskTrainer | None:
        """The first task as another run has left it; None if it is to be trained here."""
        identity = None if self.trainer else self._first_task_identity()
        found = self.first_tasks.load(identity) if self.first_tasks and identity else None
        if found is None:
            return None
        trainer, own = self._new_trainer(), self.method.state_dict()
        # Another method of its kind may remember other things, but none of them yet.
        trainer.best_state = own | {k: v for k, v in found["method"].items() if k in own}
        trainer.curve = found["curve"]
        for epoch in range(len(trainer.curve)):
            on_epoch_end(trainer.report(epoch))
        self._set_random(found)
        return trainer

    def _keep_first_task(self, trainer: TaskTrainer) -> None:
        identity = self._first_task_identity()
        if self.first_tasks is None or identity is None or len(trainer.curve) < trainer.epoch:
            return  # a state from before curves were part of it has not all of its curve
        state = {"method": trainer.best_state, "curve": trainer.curve, "seconds": trainer.seconds}
        self.first_tasks.save(identity, state | self._random())

    def _evaluate(self) -> None:
        for i in range(self.task + 1):
            task = self.stream[i]
            found = evaluate(self.method.network, task, task.evaluation, i)
            for matrix, value in zip(self.results.matrices.values(), found, strict=True):
                matrix[self.task, i] = value

    def _see_protection(self) -> None:
        held = self.method.protection()
        if held is None:
            return
        self.results.selectivity[self.task] = held.selectivity(self.method.network)
        if self.checkpoints is not None:
            kept = {"name": held.name, "values": held.values, "holds": held.holds}
            self.checkpoints.keep(self.task, {"identity": self.identity, **kept})

    def _new_trainer(self) -> TaskTrainer:
        return TaskTrainer(self.method, self.stream, self.task, self.config.training)

    def _save(self) -> None:
        if self.checkpoints is None:
            return
        state: dict[str, Any] = {
            "identity": self.identity,
            "task": self.task,
            "results": [torch.from_numpy(m) for m in self.results.matrices.values()],
            "selectivity": [one and one.as_dict() for one in self.results.selectivity],
            "method": self.method.state_dict(),
            "trainer": None if self.trainer is None else self.trainer.state_dict(),
        }
        self.checkpoints.save(state | self._random())

    def _restore(self, state: dict[str, Any]) -> None:
        self.task = state["task"]
        saved = zip(self.results.matrices, state["results"], strict=True)
        matrices = {name: matrix.numpy() for name, matrix in saved}
        known = state.get("selectivity", self.results.selectivity)  # older states have none
        selectivity = [None if one is None else Selectivity.from_dict(one) for one in known]
        self.results = Results(
            **matrices, selectivity=selectivity, data_sets=self.stream.data_sets
        )
        self.method.load_state_dict(state["method"])
        if state["trainer"] is not None:
            self.trainer = self._new_trainer()
            self.trainer.load_state_dict(state["trainer"])
        self._set_random(state)

    def _random(self) -> dict[str, Any]:
        """Where all random numbers are."""
        return {
            "generator": self.generator.get_state(),
            "rng": torch.get_rng_state(),
            "cuda_rng": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }

    def _set_random(self, state: dict[str, Any]) -> None:
        """Go on with them from there: last, since building a trainer may have drawn some."""
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["rng"])
        if torch.cuda.is_available() and len(state["cuda_rng"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state["cuda_rng"])
