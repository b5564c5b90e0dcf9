"""CIFAR10 cut by classes, with random crops and flips: two tasks of five or five tasks of two."""

from typing import Literal

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._class_orders import ClassOrder, class_groups
from mpnet.benchmarks._source import Source


@BENCHMARKS.register("split_cifar10")
def split_cifar10(
    source: Source, *, n_tasks: Literal[2, 5] = 5, class_order: ClassOrder = None
) -> TaskStream:
    """Classes in ascending order, unless a class order is asked for.

    Args:
        source: where the images come from.
        n_tasks: how many tasks.
        class_order: seed of a shuffle that decides which classes form which task.
    """
    base, groups = source.base("cifar10"), class_groups(10, n_tasks, class_order)
    return TaskStream(base.class_tasks(groups, base.preparation(), is_augmented=True))
