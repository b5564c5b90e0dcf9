"""A stream for tests of devices, which need no picture."""

import torch

from mpnet.benchmarks import Preparation, Split, Task, TaskStream


def made_up_stream(shape: tuple[int, ...], n_examples: int = 12) -> TaskStream:
    """Two tasks of black images, the first one augmented."""

    def task(name: str) -> Task:
        pool = torch.zeros(n_examples, *shape, dtype=torch.uint8)
        split = Split(pool, torch.arange(n_examples), torch.arange(n_examples) % 2)
        prepare = Preparation(torch.zeros(1, 1, 1, 1), torch.ones(1, 1, 1, 1))
        return Task(name, 2, split, split, split, prepare, is_augmented=name == "first")

    return TaskStream((task("first"), task("second")))
