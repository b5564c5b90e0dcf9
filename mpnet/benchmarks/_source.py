"""The source of a benchmark's examples, and which of them a run may see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, Gt, Lt
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError
from torch import Tensor

from mpnet import datasets
from mpnet.benchmarks._base import EvaluationSplit, Split, Task
from mpnet.benchmarks._class_orders import group_name
from mpnet.benchmarks._preparation import Preparation
from mpnet.registry import did_you_mean


def _known(names: Sequence[str]) -> Sequence[str]:
    """The names of data sets, if all are.

    Raises:
        PydanticCustomError: one is not.
    """
    if unknown := [name for name in names if name not in datasets.DATASETS]:
        hints = [f"no '{name}'; {did_you_mean(name, datasets.DATASETS)}" for name in unknown]
        raise PydanticCustomError("data_set", f"must name data sets ({' '.join(hints)})")
    return names


@dataclass(frozen=True)
class Source:
    """How every benchmark cuts its data sets.

    Args:
        split: what a run is judged on; test images are read only if it is "test".
        data_root: where the data sets are; None for the default.
        validation_share: of every class of the training part, held out for validation.
        split_seed: decides which images are held out; the run's seed does not matter.
        max_train_per_class: use only so many images of each class, validation included.
        partial_data: the data sets that may have other numbers of images than is known of them.
    """

    split: EvaluationSplit
    data_root: str | None = None
    validation_share: Annotated[float, Gt(0), Lt(1)] = 0.15
    split_seed: Annotated[int, Ge(0), Lt(2**63)] = 0
    max_train_per_class: Annotated[int, Ge(2), Lt(2**31)] | None = None
    partial_data: Annotated[Sequence[str], AfterValidator(_known)] = ()

    def base(self, name: str | datasets.Dataset) -> "Base":
        """A data set, its training part split once and for all its classes."""
        known = self._load(name, "train")
        pool, labels = torch.from_numpy(known.images), torch.from_numpy(known.labels)
        generator = torch.Generator().manual_seed(self.split_seed)
        if self.max_train_per_class is None:
            chosen = torch.arange(len(labels))
        else:
            chosen = _at_most(labels, self.max_train_per_class, generator)
        rest, held_out = stratified_split(labels[chosen], self.validation_share, generator)
        train, validation = (_Part(pool, labels, chosen[i]) for i in (rest, held_out))
        evaluation = validation
        if self.split == "test":
            hidden = self._load(name, "test")
            hidden_labels = torch.from_numpy(hidden.labels)
            everything = torch.arange(len(hidden_labels))
            evaluation = _Part(torch.from_numpy(hidden.images), hidden_labels, everything)
        return Base(train, validation, evaluation)

    def _load(self, which: str | datasets.Dataset, part: datasets.Part) -> datasets.Images:
        name = which if isinstance(which, str) else which.name
        return datasets.load(which, part, self.data_root, name in self.partial_data)


@dataclass(frozen=True)
class _Part:
    """Examples of a data set with their labels in that set."""

    pool: Tensor
    labels: Tensor
    index: Tensor

    def of_classes(self, classes: Sequence[int]) -> Split:
        """The examples of some classes, labelled by their place among them."""
        place = torch.full((max(int(self.labels.max()), *classes) + 1,), -1)
        place[torch.tensor(classes)] = torch.arange(len(classes))
        places = place[self.labels[self.index]]
        return Split(self.pool, self.index[places >= 0], places[places >= 0])


@dataclass(frozen=True)
class Base:
    """A data set as a run sees it."""

    train: _Part
    validation: _Part
    evaluation: _Part

    def preparation(self, size: int | None = None, n_channels: int | None = None) -> Preparation:
        """Normalisation by the whole training part, whatever is used of it."""
        return Preparation.of(self.train.pool, size, n_channels)

    def task(
        self, name: str, classes: Sequence[int], prepare: Preparation, is_augmented: bool = False
    ) -> Task:
        """The task of telling some classes apart."""
        train, validation = self.train.of_classes(classes), self.validation.of_classes(classes)
        is_judged = self.evaluation is self.validation
        evaluation = validation if is_judged else self.evaluation.of_classes(classes)
        return Task(name, len(classes), train, validation, evaluation, prepare, is_augmented)

    def class_tasks(
        self,
        groups: Sequence[Sequence[int]],
        prepare: Preparation,
        is_augmented: bool = False,
    ) -> tuple[Task, ...]:
        """One task for each group of classes, named by what it holds."""
        return tuple(
            self.task(group_name(group), group, prepare, is_augmented) for group in groups
        )


def stratified_split(
    labels: Tensor, share: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Indices of the rest and of a random `share` of every class, both in ascending order."""
    held_out = []
    for label in labels.unique():
        members = (labels == label).nonzero().squeeze(1)
        order = torch.randperm(len(members), generator=generator)
        held_out.append(members[order[: round(share * len(members))]])
    is_held_out = torch.zeros(len(labels), dtype=torch.bool)
    is_held_out[torch.cat(held_out)] = True
    return (~is_held_out).nonzero().squeeze(1), is_held_out.nonzero().squeeze(1)


def _at_most(labels: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """Indices of n random examples of every class, in ascending order."""
    chosen = []
    for label in labels.unique():
        members = (labels == label).nonzero().squeeze(1)
        chosen.append(members[torch.randperm(len(members), generator=generator)[:n]])
    return torch.cat(chosen).sort().values
