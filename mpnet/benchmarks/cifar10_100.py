"""Five tasks of two CIFAR10 classes and five of twenty CIFAR100 classes, in turn."""

from dataclasses import replace
from typing import Literal

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._class_orders import ClassOrder, class_groups
from mpnet.benchmarks._source import Source

# (data set, place among its five tasks); HAT shuffles the ten tasks, here as its seed 0 does.
_ORDERS = {
    "strict": [(name, i) for i in range(5) for name in ("cifar10", "cifar100")],
    "hat_seed0": [
        ("cifar10", 2),
        ("cifar100", 3),
        ("cifar10", 4),
        ("cifar100", 4),
        ("cifar10", 1),
        ("cifar100", 1),
        ("cifar100", 2),
        ("cifar10", 3),
        ("cifar10", 0),
        ("cifar100", 0),
    ],
}


@BENCHMARKS.register("cifar10_100")
def cifar10_100(
    source: Source,
    *,
    order: Literal["strict", "hat_seed0"] = "strict",
    class_order: ClassOrder = None,
) -> TaskStream:
    """Ten tasks with random crops and flips, each set normalised by its own constants.

    Args:
        source: where the images come from.
        order: "strict" alternation, as the paper says, or HAT's, which mostly alternates.
        class_order: seed of a shuffle that decides which classes form which task, in each set by
            itself; which set a task comes from follows from `order` alone.
    """
    tasks = {}
    for name, n_classes in (("cifar10", 10), ("cifar100", 100)):
        base = source.base(name)
        groups = class_groups(n_classes, 5, class_order)
        tasks[name] = base.class_tasks(groups, base.preparation(), is_augmented=True)
    chosen = [replace(tasks[name][i], data_set=name) for name, i in _ORDERS[order]]
    return TaskStream(tuple(chosen))
