"""MNIST, or FashionMNIST, whole or cut by classes: two tasks of five or five tasks of two."""

from typing import Literal

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._class_orders import ClassOrder, class_groups
from mpnet.benchmarks._source import Source


@BENCHMARKS.register("split_mnist")
def split_mnist(
    source: Source,
    *,
    n_tasks: Literal[1, 2, 5] = 5,
    dataset: Literal["mnist", "fashion_mnist"] = "mnist",
    class_order: ClassOrder = None,
) -> TaskStream:
    """Classes in ascending order, unless a class order is asked for.

    Args:
        source: where the images come from.
        n_tasks: how many tasks; one task holds all classes in any order.
        dataset: which images.
        class_order: seed of a shuffle that decides which classes form which task.
    """
    base, groups = source.base(dataset), class_groups(10, n_tasks, class_order)
    return TaskStream(base.class_tasks(groups, base.preparation()))
