"""Small runs on scikit-learn's digits, shared by the suites."""

from typing import Any

import torch

from mpnet.benchmarks import TaskStream
from mpnet.config import RunConfig, parse_run
from mpnet.methods import Method
from mpnet.training import EpochReport, TaskTrainer, TrainingSettings


def digits_run(name: str = "ft", /, **changes: Any) -> RunConfig:
    """Two epochs of a tiny network on the digits: about a second."""
    run: dict[str, Any] = {
        "network": {"name": "mlp", "hidden": [16]},
        "method": {"name": name},
        "training": {"epochs": 2, "batch_size": 100, "warmup_steps": 2, "learning_rate": 0.01},
        "device": "cpu",
    }
    return parse_run({**run, **changes})


def train_task(
    method: Method,
    stream: TaskStream,
    t: int,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> list[EpochReport]:
    """Train one task from start to end and give what was reported."""
    trainer = TaskTrainer(method, stream, t, settings)
    reports = []
    while not trainer.is_finished:
        reports.append(trainer.train_epoch(generator))
    trainer.finish()
    return reports


def trained(config: RunConfig, n_tasks: int) -> Method:
    """The method of a run after its first tasks."""
    torch.manual_seed(config.seed)
    stream = config.build_stream()
    method = config.build_method(stream)
    generator = torch.Generator().manual_seed(0)
    for t in range(n_tasks):
        train_task(method, stream, t, config.training, generator)
    return method
