"""Five tasks of two digits each from scikit-learn's built-in images: nothing to download."""

from typing import Annotated

import torch
from annotated_types import Gt, Lt

from mpnet.benchmarks._base import (
    BENCHMARKS,
    EvaluationSplit,
    Normalisation,
    Split,
    Task,
    TaskStream,
    stratified_split,
)
from mpnet.datasets import digits as dataset

# The set has no test part of its own, so one is cut off for good, whatever the seed of a run.
_TEST_SHARE, _TEST_SEED = 0.2, 0


@BENCHMARKS.register("digits")
def digits(
    split: EvaluationSplit,
    *,
    validation_share: Annotated[float, Gt(0), Lt(1)] = 0.15,
    split_seed: int = 0,
) -> TaskStream:
    """0|1, 2|3, 4|5, 6|7, 8|9, with 20 % of the images as the test part."""
    images, labels = dataset.load()
    rest, test = stratified_split(labels, _TEST_SHARE, torch.Generator().manual_seed(_TEST_SEED))
    everything = Split(images, labels)
    known, hidden = everything.where(rest), everything.where(test)
    normalise = Normalisation.of(known.images)
    generator = torch.Generator().manual_seed(split_seed)
    tasks = []
    for first in range(0, 10, 2):
        of_task = _pair(known, first)
        chosen = stratified_split(of_task.labels, validation_share, generator)
        train, validation = (of_task.where(indices) for indices in chosen)
        evaluation = _pair(hidden, first) if split == "test" else validation
        tasks.append(Task(f"{first}|{first + 1}", 2, train, validation, evaluation, normalise))
    return TaskStream(tuple(tasks))


def _pair(split: Split, first: int) -> Split:
    members = split.where((split.labels == first) | (split.labels == first + 1))
    return Split(members.images, members.labels - first)
