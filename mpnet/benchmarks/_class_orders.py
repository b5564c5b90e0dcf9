"""Which classes form which task: in ascending order, or shuffled."""

from collections.abc import Sequence
from typing import Annotated

import torch
from annotated_types import Ge, Lt

# The seed of the shuffle; None for ascending classes.
ClassOrder = Annotated[int, Ge(0), Lt(2**63)] | None


def class_groups(n_classes: int, n_tasks: int, class_order: ClassOrder) -> list[Sequence[int]]:
    """The classes of each task, equally many; within a task they are ascending.

    A shuffle draws from a generator of its own, so that nothing else of a run changes it.
    """
    width = n_classes // n_tasks
    if class_order is None:
        return [range(first, first + width) for first in range(0, n_classes, width)]
    generator = torch.Generator().manual_seed(class_order)
    shuffled = torch.randperm(n_classes, generator=generator)
    return [sorted(group.tolist()) for group in shuffled.split(width)]


def group_name(classes: Sequence[int]) -> str:
    """Classes without a gap as 0-4, others one by one: 1,4,8."""
    has_gaps = len(classes) != classes[-1] - classes[0] + 1
    return ",".join(map(str, classes)) if has_gaps else f"{classes[0]}-{classes[-1]}"
