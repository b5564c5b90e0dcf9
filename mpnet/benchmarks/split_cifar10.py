"""CIFAR10 cut by classes, with random crops and flips: two tasks of five or five tasks of two."""

from typing import Literal

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._source import Source


@BENCHMARKS.register("split_cifar10")
def split_cifar10(source: Source, *, n_tasks: Literal[2, 5] = 5) -> TaskStream:
    """Classes in ascending order."""
    base = source.base("cifar10")
    return TaskStream(base.class_tasks(n_tasks, base.preparation(), is_augmented=True))
