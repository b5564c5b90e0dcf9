"""Steps that are recorded and repeated; what records here is a fake, since no GPU is at hand."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mpnet import training
from mpnet.benchmarks import TaskStream
from mpnet.capture import CapturedStep, Outputs, graph_for
from mpnet.config import RunConfig
from mpnet.methods import METHODS, Progress
from mpnet.training import TaskTrainer
from tests.mpnet.conftest import digits_run
from tests.mpnet.devices import made_up_stream

every_method = pytest.mark.parametrize("name", list(METHODS))


def _tensors(nested: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(nested) if isinstance(leaf, Tensor)]


class _Recorder(TorchDispatchMode):
    """Notes every operation with the very tensors that it took and gave."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.done.append((func, args, kwargs or {}, out))
        return out


class FakeGraph:
    """Repeats operations on the tensors of the recording, as a CUDA graph does: no Python between.

    A CUDA graph records without doing; this one must do what it records, so that its first replay
    has nothing left to do.
    """

    def __init__(self) -> None:
        self.n_warm = self.n_replays = 0
        self._done: list[tuple[Any, Any, Any, Any]] = []

    def warm_up(self, function: Callable[[], Outputs]) -> Outputs:
        self.n_warm += 1
        return function()

    def record(self, function: Callable[[], Outputs]) -> Outputs:
        with _Recorder() as recorder:
            given = function()
        self._done = recorder.done
        return given

    @torch.no_grad()
    def replay(self) -> None:
        self.n_replays += 1
        if self.n_replays == 1:
            return
        for func, args, kwargs, out in self._done:
            again, known = func(*args, **kwargs), {t.data_ptr() for t in _tensors((args, kwargs))}
            for own, new in zip(_tensors(out), _tensors(again), strict=True):
                if own.data_ptr() not in known and own.data_ptr() != new.data_ptr():
                    own.detach().copy_(new)


class EagerGraph(FakeGraph):
    """The oracle: takes every step as it is, with the same numbers on the device."""

    def record(self, function: Callable[[], Outputs]) -> Outputs:
        raise RuntimeError("not here")


def _trained(config: RunConfig, stream: TaskStream, device: str = "cpu") -> list[Any]:
    """What two tasks leave behind, and all that the second has reported."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    stream = stream.to(torch.device(device))
    method = config.build_method(stream).to(device)
    for t in range(2):
        trainer = TaskTrainer(method, stream, t, config.training)
        while not trainer.is_finished:
            trainer.train_epoch(generator)
        trainer.finish()
    return [trainer.curve, *method.state_dict().values()]


def _is_equal(some: list[Any], others: list[Any]) -> bool:
    pairs = zip(some[1:], others[1:], strict=True)
    return some[0] == others[0] and all(torch.equal(a, b) for a, b in pairs)


class _Graphs:
    """Makes graphs of a kind for a trainer each, and keeps the last."""

    def __init__(self, kind: type[FakeGraph]) -> None:
        self.kind, self.last = kind, kind()

    def __call__(self, device: torch.device, asked: str) -> FakeGraph:
        self.last = self.kind()
        return self.last


def _both_ways(
    config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], list[Any], FakeGraph]:
    """What is left by steps that are taken, and by repeated ones; and what repeated them last."""
    left, graphs = [], [_Graphs(EagerGraph), _Graphs(FakeGraph)]
    for made in graphs:
        monkeypatch.setattr(training, "graph_for", made)
        left.append(_trained(config, config.build_stream()))
    return left[0], left[1], graphs[1].last


@every_method
def test_a_repeated_step_equals_a_taken_one_bit_for_bit(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = {"name": "mlp", "hidden": [8], "batch_norm": True, "dropout": 0.2}
    training = {"epochs": 3, "batch_size": 40, "warmup_steps": 12, "decay": "cosine"}
    layers = {"samples": 2} if METHODS[name].family == "sampled" else {}
    config = digits_run(name, network=network, training=training, layers=layers)
    taken, repeated, graph = _both_ways(config, monkeypatch)
    assert _is_equal(taken, repeated)
    assert graph.n_warm == 3  # in joint training the first task's: later batches vary in shape
    assert graph.n_replays > 9


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_what_changes_from_step_to_step_is_read_from_tensors(
    covariance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = {"likelihood": "gaussian", "jitter_start": 0.5, "covariance": covariance}
    training = {"epochs": 2, "batch_size": 40, "second_moment": "tensor", "clip_norm": 0.1}
    config = digits_run("lra", layers=layers, training=training)
    taken, repeated, _ = _both_ways(config, monkeypatch)
    assert _is_equal(taken, repeated)


@pytest.mark.parametrize("name", ["ft", "hat"])
def test_a_number_that_a_step_does_not_read_from_its_device_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = TaskTrainer._now

    def as_floats(self: TaskTrainer) -> tuple[Progress, float]:
        (epoch, task), rate = now(self)
        return Progress(float(epoch), float(task)), float(rate)

    monkeypatch.setattr(TaskTrainer, "_now", as_floats)
    config = digits_run(name, training={"epochs": 2, "batch_size": 40, "warmup_steps": 12})
    taken, repeated, _ = _both_ways(config, monkeypatch)
    assert not _is_equal(taken, repeated)


def _added(images: Tensor, labels: Tensor) -> Outputs:
    return images.sum() + labels.sum(), images.sum()


def test_batches_of_another_shape_are_taken_as_they_are() -> None:
    graph = FakeGraph()
    step, sizes = CapturedStep(_added, graph), [4, 4, 4, 4, 3, 4, 4, 2]
    for n in sizes:
        images, labels = torch.rand(n, 2), torch.arange(n)
        assert step(images, labels)[0] == _added(images, labels)[0]
    assert (graph.n_warm, graph.n_replays) == (3, 3)


def test_a_step_that_cannot_be_recorded_is_taken_as_it_is_and_the_log_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    graph = EagerGraph()
    step = CapturedStep(_added, graph)
    with caplog.at_level(logging.WARNING):
        for n in range(6):
            images, labels = torch.full((4, 2), float(n)), torch.arange(4)
            assert step(images, labels)[0] == _added(images, labels)[0]
    assert graph.n_replays == 0
    assert [record.message for record in caplog.records] == [
        "a step cannot be a CUDA graph and is taken as it is: not here"
    ]


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_only_a_gpu_has_graphs(device: str) -> None:
    assert graph_for(torch.device(device), "auto") is None


def test_nobody_gets_a_graph_who_does_not_want_one() -> None:
    assert graph_for(torch.device("cuda"), "off") is None


def test_how_steps_are_started_leaves_no_trace_in_what_a_run_is() -> None:
    runs = [digits_run("ft", training={"cuda_graph": asked}) for asked in ("auto", "off")]
    assert "cuda_graph" not in runs[0].identity()
    assert runs[0].identity() == runs[1].identity()
    assert runs[0].first_task_identity() == runs[1].first_task_identity()


@pytest.mark.slow
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@every_method
@pytest.mark.parametrize("network", ["mlp", "alexnet"])
def test_on_a_gpu_a_graph_gives_the_weights_of_single_operations_bit_for_bit(
    name: str, network: str
) -> None:
    """Never run so far."""
    size, shape = {"mlp": ({"hidden": [32]}, (3, 8, 8)), "alexnet": ({}, (3, 32, 32))}[network]
    left = []
    for asked in ("auto", "off"):
        training = {"epochs": 5, "batch_size": 40, "warmup_steps": 9, "cuda_graph": asked}
        config = digits_run(name, network={"name": network, **size}, training=training)
        left.append(_trained(config, made_up_stream(shape, 130), "cuda"))
    assert _is_equal(*left)
