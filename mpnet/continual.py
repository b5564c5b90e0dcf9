"""Algorithm 1: tasks in order, train, evaluate, fill R. No optimiser, no method names."""

from collections.abc import Callable

import numpy as np
import torch

from mpnet.allocator import keep_freed_memory
from mpnet.benchmarks import TaskStream
from mpnet.config import RunConfig
from mpnet.methods import Method
from mpnet.metrics import Matrix
from mpnet.training import EpochReport, accuracy, train_task

TaskEnd = Callable[[int, Matrix], None]
EpochEnd = Callable[[EpochReport], None]


def run(
    config: RunConfig,
    on_task_end: TaskEnd = lambda t, R: None,
    on_epoch_end: EpochEnd = lambda report: None,
) -> Matrix:
    """Train all tasks of a benchmark in order and give R on the one split that `config` names.

    The callbacks are the only way out: what they do is the caller's business.
    """
    device = _device(config.device)
    if device.type == "cpu":
        keep_freed_memory()
    torch.manual_seed(config.seed)
    generator = torch.Generator().manual_seed(config.seed)
    stream = config.build_stream().to(device)
    method = config.build_method(stream).to(device)
    R = np.full((len(stream), len(stream)), np.nan)
    for t in range(len(stream)):
        train_task(method, stream, t, config.training, generator, on_epoch_end)
        R[t, : t + 1] = _accuracies(method, stream, t)
        on_task_end(t, R.copy())
    return R


def _accuracies(method: Method, stream: TaskStream, t: int) -> list[float]:
    seen = [stream[i] for i in range(t + 1)]
    return [accuracy(method.network, task, task.evaluation, i) for i, task in enumerate(seen)]


def _device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(name)
