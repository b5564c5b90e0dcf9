"""A data set of one's own, a folder of pictures for each class, cut into tasks."""

from collections.abc import Sequence
from typing import Annotated, Literal

from annotated_types import Ge

from mpnet import datasets
from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._class_orders import ClassOrder, class_groups
from mpnet.benchmarks._source import Source
from mpnet.errors import ConfigError
from mpnet.registry import did_you_mean


@BENCHMARKS.register("image_folder")
def image_folder(
    source: Source,
    *,
    folder: str,
    size: Annotated[int, Ge(1)],
    channels: Literal[1, 3] = 3,
    n_tasks: Annotated[int, Ge(1)] = 1,
    tasks: Sequence[Sequence[str]] | None = None,
    class_order: ClassOrder = None,
    augment: bool = False,
) -> TaskStream:
    """Classes in the order of their names, unless tasks or a class order are asked for.

    Without `train/` and `test/` in the folder, a fixed fifth of every class is the test part.

    Args:
        source: where the images come from.
        folder: below the data root, or an absolute path.
        size: width and height that every picture is made.
        channels: 1 for grey, 3 for colours.
        n_tasks: how many tasks of equally many classes.
        tasks: the classes of each task by name, instead of `n_tasks`.
        class_order: seed of a shuffle that decides which classes form which task.
        augment: whether to crop and flip at random in training.
    """
    names = datasets.class_names(folder, source.data_root)
    if tasks is None:
        groups = _equal_groups(len(names), n_tasks, class_order)
    else:
        groups = _named_groups(names, tasks, n_tasks, class_order)
    base = source.base(datasets.image_folder(folder, size, channels, source.data_root))
    return TaskStream(base.class_tasks(groups, base.preparation(), is_augmented=augment))


def _equal_groups(n_classes: int, n_tasks: int, class_order: ClassOrder) -> list[Sequence[int]]:
    if n_classes % n_tasks:
        raise ConfigError(
            f"benchmark.n_tasks: must divide the {n_classes} classes of the folder, but got "
            f"{n_tasks}; or name the classes of each task in `tasks`."
        )
    return class_groups(n_classes, n_tasks, class_order)


def _named_groups(
    names: Sequence[str], tasks: Sequence[Sequence[str]], n_tasks: int, class_order: ClassOrder
) -> list[Sequence[int]]:
    asked = [name for task in tasks for name in task]
    faults = [
        f"benchmark.tasks: no class '{name}'; {did_you_mean(name, names)}"
        for name in asked
        if name not in names
    ]
    if len(set(asked)) < len(asked) or not all(tasks) or not tasks:
        faults.append("benchmark.tasks: each class must stand there once, and none be empty.")
    if n_tasks != 1 or class_order is not None:
        faults.append("benchmark.tasks: n_tasks and class_order must not stand beside it.")
    if faults:
        raise ConfigError("\n".join(faults))
    return [sorted(names.index(name) for name in task) for task in tasks]
