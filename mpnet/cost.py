"""What a run will cost, from a few steps of it."""

import time
from collections.abc import Iterator
from itertools import pairwise

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


def _measured(config: RunConfig, spend: float) -> float:
    device = config.torch_device()
    if device.type == "cpu":
        keep_freed_memory()
    stream = config.build_stream().to(device)
    method = config.build_method(stream).to(device)
    per_step = _seconds_per_step(TaskTrainer(method, stream, 0, config.training), spend)
    n_steps = (TaskTrainer(method, stream, t, config.training).n_steps for t in range(len(stream)))
    return per_step * sum(n_steps)


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
