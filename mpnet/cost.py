"""What a run will cost, from a few steps of it."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice, pairwise
from typing import NamedTuple, Protocol

import torch

from mpnet.allocator import keep_freed_memory
from mpnet.config import RunConfig
from mpnet.machine import precision_of_products
from mpnet.training import Group, TaskTrainer, batches


def expected_seconds(config: RunConfig, n_threads: int | None = None, spend: float = 1.0) -> float:
    """Seconds that all epochs of all tasks will take, without early stops and evaluation.

    Args:
        config: what would run.
        n_threads: CPU threads that it would have.
        spend: seconds to measure for; at least one step after the first is always taken.
    """
    n_before = torch.get_num_threads()
    torch.set_num_threads(n_threads or n_before)
    try:
        with precision_of_products(config.training.precision):
            return _measured(config, spend)
    finally:
        torch.set_num_threads(n_before)


def least_memory(config: RunConfig) -> int:
    """Bytes that training takes at the least: weights, their gradients and Adam's two moments.

    Raises:
        ConfigError: such a network cannot be built for the benchmark.
    """
    stream = config.build_stream()
    with torch.device("meta"):  # shapes without values
        network = config.build_network(stream)
    return 4 * sum(p.numel() * p.element_size() for p in network.parameters())


class Need(NamedTuple):
    """What a run takes of a GPU that it has for itself, as parts of the whole.

    Args:
        memory: in use, whatever it is used for.
        busy: of the time.
    """

    memory: float
    busy: float


def measured_need(config: RunConfig, spend: float = 1.0) -> Need | None:
    """What a run takes of its GPU; None if it would run on a CPU. Never run on a GPU so far.

    Without CUDA graphs the gaps between operations count as work, and a GPU looks busier than it
    is.

    Args:
        config: what would run.
        spend: seconds to measure for.
    """
    device = config.torch_device()
    if device.type != "cuda":
        return None
    with precision_of_products(config.training.precision):
        trainer = _first_trainer(config)
        steps = (partial(trainer.train_step, batch) for batch in _endless_batches(trainer))
        busy = _busy_share(steps, CudaMeter(), spend)
    free, total = torch.cuda.mem_get_info(device)
    return Need(1 - free / total, busy)


class Meter(Protocol):
    """Says how long a device works on something."""

    def work(self, step: Callable[[], object]) -> None:
        """Let it work, without waiting for it."""

    def seconds(self) -> float:
        """All of its work since the last time, when it is done."""


class CudaMeter:
    """By events on the current stream."""

    def __init__(self) -> None:
        self._events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []

    def work(self, step: Callable[[], object]) -> None:
        """Between two events."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        step()
        end.record()
        self._events.append((start, end))

    def seconds(self) -> float:
        """Wait, and add up."""
        torch.cuda.synchronize()
        total = sum(start.elapsed_time(end) for start, end in self._events) / 1000
        self._events = []
        return total


def _busy_share(steps: Iterator[Callable[[], object]], meter: Meter, spend: float) -> float:
    """The part of the time in which a device works, after a few steps that warm up."""
    for step in islice(steps, 8):
        meter.work(step)
    meter.seconds()
    start = time.perf_counter()
    for step in steps:
        meter.work(step)
        if time.perf_counter() - start >= spend:
            break
    worked = meter.seconds()
    return min(1.0, worked / (time.perf_counter() - start))


def _measured(config: RunConfig, spend: float) -> float:
    first = _first_trainer(config)
    per_step, method, stream = _seconds_per_step(first, spend), first.method, first.stream
    n_steps = (TaskTrainer(method, stream, t, config.training).n_steps for t in range(len(stream)))
    return per_step * sum(n_steps)


def _first_trainer(config: RunConfig) -> TaskTrainer:
    device = config.torch_device()
    if device.type == "cpu":
        keep_freed_memory()
    stream = config.build_stream().to(device)
    return TaskTrainer(config.build_method(stream).to(device), stream, 0, config.training)


def _seconds_per_step(trainer: TaskTrainer, spend: float) -> float:
    """The shortest step: what else the machine does, as when Ray starts, makes others longer."""
    ends: list[float] = []
    for batch in _endless_batches(trainer):
        loss, _ = trainer.train_step(batch)
        loss.item()  # waits for a device that works on its own
        ends.append(time.perf_counter())
        if len(ends) > 1 and ends[-1] - ends[0] >= spend:  # the first step warms up
            break
    return min(after - before for before, after in pairwise(ends))


def _endless_batches(trainer: TaskTrainer) -> Iterator[list[Group]]:
    generator = torch.Generator().manual_seed(0)
    while True:
        yield from batches(
            trainer.course.stream, trainer.tasks, trainer.settings.batch_size, generator
        )
