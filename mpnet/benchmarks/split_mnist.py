"""MNIST, or FashionMNIST, whole or cut by classes: two tasks of five or five tasks of two."""

from typing import Literal

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._source import Source


@BENCHMARKS.register("split_mnist")
def split_mnist(
    source: Source,
    *,
    n_tasks: Literal[1, 2, 5] = 5,
    dataset: Literal["mnist", "fashion_mnist"] = "mnist",
) -> TaskStream:
    """Classes in ascending order."""
    base = source.base(dataset)
    return TaskStream(base.class_tasks(n_tasks, base.preparation()))
