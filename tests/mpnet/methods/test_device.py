"""What every registered method must do on a device that is not the CPU; shown without one."""

from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mpnet.benchmarks import TaskStream
from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig, parse_run
from mpnet.continual import run
from mpnet.device_contract import META, MixedDevices, OnDevice, Waits
from mpnet.evaluation import evaluate
from mpnet.layers.sampled import gaussian_weights
from mpnet.methods import METHODS, Method, Progress
from mpnet.methods.ft import FineTuning
from mpnet.training import EpochReport, TaskTrainer, batches
from tests.mpnet.conftest import digits_run
from tests.mpnet.devices import made_up_stream

NETWORKS = {"mlp": ({"hidden": [4, 3]}, (3, 8, 8)), "alexnet": ({}, (3, 20, 20))}
every_method = pytest.mark.parametrize("name", list(METHODS))
every_norm = pytest.mark.parametrize(
    ("network", "batch_norm"),
    list(product(NETWORKS, (False, True, "frozen", "per_task"))),
)
TRAINING = {"epochs": 2, "batch_size": 5, "warmup_steps": 2}
both_tasks = pytest.mark.parametrize("t", [0, 1])


def _trainer(
    name: str, network: str = "mlp", batch_norm: object = False, t: int = 0, **changes: Any
) -> TaskTrainer:
    options, shape = NETWORKS[network]
    dropout: object = {"mlp": 0.2, "alexnet": True}[network]
    settings = {"name": network, **options, "batch_norm": batch_norm, "dropout": dropout}
    raw = {"method": {"name": name}, "network": settings, "training": TRAINING}
    if METHODS[name].family == "sampled":
        raw["layers"] = {"samples": 2, "evaluation_samples": 2}
    config, stream = parse_run({**raw, **changes}), made_up_stream(shape).to(META)
    method = _built(config, stream)
    return TaskTrainer(method, stream, t, config.training)


def _built(config: RunConfig, stream: TaskStream) -> Method:
    """On the device from the start, which is faster than there and back; but for the seeds."""
    with META:
        method = config.build_method(stream)
    for weight in gaussian_weights(method):
        weight.evaluation_seed = torch.tensor(0)
    return method.to(META)


def _steps(trainer: TaskTrainer) -> list[OnDevice]:
    """What the steps of an epoch do, each watched; its batches may be drawn on the CPU."""
    trainer.method.train()
    watches = []
    generator = torch.Generator().manual_seed(0)
    with OnDevice():
        for batch in islice(batches(trainer.course.stream, trainer.tasks, 5, generator), 3):
            with OnDevice(is_step=True) as watch:
                trainer.train_step(batch)
            watches.append(watch)
    return watches


@every_method
@every_norm
@both_tasks
def test_a_step_stays_on_its_device_and_asks_for_no_value(
    name: str, network: str, batch_norm: object, t: int
) -> None:
    trainer = _trainer(name, network, batch_norm, t)
    assert len(_steps(trainer)) in (3, trainer.n_batches)


@every_method
def test_every_full_batch_takes_the_same_operations_on_the_same_shapes(name: str) -> None:
    first, second, last = _steps(_trainer(name, "alexnet", True))
    assert first.seen == second.seen
    assert [op for op, _ in last.seen] == [op for op, _ in first.seen]


@pytest.mark.parametrize("variance", ["natural", "adam"])
@pytest.mark.parametrize("likelihood", ["tight_softmax", "gaussian"])
def test_options_that_change_a_step_stay_on_the_device_too(variance: str, likelihood: str) -> None:
    method = {"name": "lra", "variance": variance}
    method |= {"rho_learning_rate": 0.01} if variance == "adam" else {}
    layers = {"likelihood": likelihood, "relu": "gaussian", "jitter_start": 0.5}
    training = {"second_moment": "tensor", "clip_norm": 1.0, "decay": "cosine", "batch_size": 5}
    steps = _steps(_trainer("lra", t=1, method=method, layers=layers, training=training))
    assert len(steps) == 3 and all(step.seen for step in steps)


@every_method
@every_norm
@both_tasks
def test_an_epoch_waits_for_the_device_once_and_once_for_each_evaluation(
    name: str, network: str, batch_norm: object, t: int
) -> None:
    trainer = _trainer(name, network, batch_norm, t)
    with Waits() as watch:
        trainer.train_epoch(torch.Generator().manual_seed(0))
    assert watch.n_waits == 1 + len(trainer.tasks)


@every_method
@pytest.mark.parametrize("network", list(NETWORKS))
def test_an_evaluation_waits_for_the_device_once(name: str, network: str) -> None:
    trainer = _trainer(name, network, "per_task")
    task = trainer.stream[0]
    with Waits() as watch:
        evaluate(trainer.method.network, task, task.evaluation, 0)
    assert watch.n_waits == 1


# The watch itself: a method that does what it must not


def _trained_with(doing: Callable[[FineTuning], object], monkeypatch: pytest.MonkeyPatch) -> None:
    def begin_batch(self: FineTuning, progress: Progress) -> None:
        doing(self)

    monkeypatch.setattr(FineTuning, "begin_batch", begin_batch)
    _steps(_trainer("ft"))


def _weight(method: FineTuning) -> Tensor:
    return method.trunk()[0].mean.detach()


@pytest.mark.parametrize(
    ("doing", "error"),
    [
        (lambda method: _weight(method).sum().item(), RuntimeError),
        (lambda method: bool(_weight(method).sum() > 0), RuntimeError),
        (lambda method: _weight(method).cpu(), NotImplementedError),
        (lambda method: _weight(method) * torch.tensor(2.0), MixedDevices),
        (lambda method: torch.zeros(()), MixedDevices),
        (lambda method: _weight(method)[torch.tensor([0])], MixedDevices),
    ],
    ids=["item", "bool", "cpu", "CPU number", "CPU tensor", "CPU index"],
)
def test_a_step_that_asks_for_a_value_or_takes_a_cpu_tensor_is_found(
    doing: Callable[[FineTuning], object], error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(error):
        _trained_with(doing, monkeypatch)


def test_a_second_wait_at_the_end_of_an_epoch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    penalty = FineTuning.penalty

    def looked_at(self: FineTuning, t: int) -> Tensor:
        penalty(self, t).cpu()
        return penalty(self, t)

    monkeypatch.setattr(FineTuning, "penalty", looked_at)
    trainer = _trainer("ft")
    with Waits() as watch:
        trainer.train_epoch(torch.Generator().manual_seed(0))
    assert watch.n_waits == 3


# A run that goes on elsewhere


class _Killed(Exception):
    """Stands for a kill -9 between two epochs."""


def _saved_within_the_second_task(name: str, folder: Path) -> Checkpoints:
    checkpoints, n_seen = Checkpoints(folder, every_epochs=1), 0

    def stop(report: EpochReport) -> None:
        nonlocal n_seen
        n_seen += 1
        if n_seen == 4:
            raise _Killed

    with pytest.raises(_Killed):
        run(digits_run(name), on_epoch_end=stop, checkpoints=checkpoints)
    return checkpoints


@every_method
def test_what_a_gpu_has_saved_goes_on_where_there_is_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = _saved_within_the_second_task(name, tmp_path / "here")
    with monkeypatch.context() as patch:  # every tensor is marked as one of a GPU
        patch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        gpu = _saved_within_the_second_task(name, tmp_path / "gpu")
    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(gpu.path, weights_only=True)
    expected, got = (run(digits_run(name), checkpoints=saved) for saved in (here, gpu))
    assert (got.R == expected.R)[-1].all()


@every_method
@pytest.mark.filterwarnings("ignore:for .* copying from a non-meta parameter:UserWarning")
def test_what_a_cpu_has_saved_is_taken_up_by_another_device(name: str, tmp_path: Path) -> None:
    config = digits_run(name)
    saved = _saved_within_the_second_task(name, tmp_path)
    state = torch.load(saved.path, weights_only=True)
    assert state["task"] == 1
    stream = config.build_stream().to(META)
    method = _built(config, stream)
    method.load_state_dict(state["method"])
    trainer = TaskTrainer(method, stream, 1, config.training)
    trainer.load_state_dict(state["trainer"])
    _steps(trainer)
    with OnDevice():
        method.load_state_dict(trainer.best_state)
