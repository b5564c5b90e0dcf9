"""MNIST ten times over, each time with the pixels in another order."""

from typing import Annotated

import numpy as np
import torch
from annotated_types import Ge

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._source import Source


@BENCHMARKS.register("permuted_mnist")
def permuted_mnist(
    source: Source,
    *,
    n_tasks: Annotated[int, Ge(1)] = 10,
    permutation_seed: Annotated[int, Ge(0)] = 0,
    first_is_identity: bool = False,
) -> TaskStream:
    """Ten classes per task; every task is permuted, the first too unless asked otherwise.

    Args:
        source: where the images come from.
        n_tasks: how many permutations.
        permutation_seed: task t draws its permutation from this plus t, whatever else a run does.
        first_is_identity: leave the first task as it is.
    """
    base = source.base("mnist")
    plain = base.preparation()
    tasks = []
    for t in range(n_tasks):
        order = torch.from_numpy(np.random.RandomState(permutation_seed + t).permutation(784))
        prepare = plain if first_is_identity and t == 0 else plain.permuted(order)
        tasks.append(base.task(f"permutation {t + 1}", range(10), prepare))
    return TaskStream(tuple(tasks))
