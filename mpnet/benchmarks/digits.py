"""Five tasks of two digits each from scikit-learn's built-in images: nothing to download."""

from typing import Literal

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._class_orders import ClassOrder, class_groups
from mpnet.benchmarks._source import Source


@BENCHMARKS.register("digits")
def digits(
    source: Source, *, n_tasks: Literal[2, 5] = 5, class_order: ClassOrder = None
) -> TaskStream:
    """0-1, 2-3, 4-5, 6-7, 8-9, or 0-4 and 5-9; 20 % of the images are the test part.

    Args:
        source: where the images come from.
        n_tasks: how many tasks.
        class_order: seed of a shuffle that decides which digits form which task.
    """
    base = source.base("digits")
    return TaskStream(base.class_tasks(class_groups(10, n_tasks, class_order), base.preparation()))
