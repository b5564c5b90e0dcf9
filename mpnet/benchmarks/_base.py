"""What every benchmark gives: tasks in order, each with what a run may see of it."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from mpnet.benchmarks._preparation import Preparation, augmented
from mpnet.errors import ConfigError
from mpnet.registry import Registry

EvaluationSplit = Literal["validation", "test"]


@dataclass(frozen=True)
class Split:
    """Some images of a data set and their labels.

    The images stay where they are, one memory map for all splits and processes, until a split is
    moved to another device.

    Args:
        pool: all images of the set (n, channels, height, width), as bytes.
        index: which images of the pool belong to the split.
        labels: labels of the split's images within the task.
    """

    pool: Tensor
    index: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def images(self, chosen: Tensor | slice = slice(None)) -> Tensor:
        """The bytes of some examples, by their place in the split."""
        return self.pool[self.index[chosen]]

    def to(self, device: torch.device) -> "Split":
        """The same examples on another device."""
        if device == self.pool.device:
            return self
        own = torch.arange(len(self), device=device)
        return Split(self.images().to(device), own, self.labels.to(device))


@dataclass(frozen=True)
class Examples:
    """A split as it is evaluated: its images prepared, in order and not augmented."""

    split: Split
    prepare: Preparation

    def __len__(self) -> int:
        return len(self.split)

    def batches(self, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Images and labels, batch by batch."""
        for chosen in torch.arange(len(self), device=self.split.labels.device).split(size):
            yield self.prepare(self.split.images(chosen)), self.split.labels[chosen]

    def thinned(self, n: int | None) -> "Examples":
        """At most `n` of the examples, spread evenly; None for all."""
        if n is None or n >= len(self):
            return self
        chosen = torch.arange(n, device=self.split.labels.device) * len(self) // n
        index, labels = self.split.index[chosen], self.split.labels[chosen]
        return Examples(Split(self.split.pool, index, labels), self.prepare)


@dataclass(frozen=True)
class Task:
    """One task: what is trained on, what picks the best weights, and the one split that is judged.

    In a run that evaluates `validation` the last two are the same and no test data are loaded.

    Args:
        data_set: the set that the task is of, where tasks are of several ones; else empty.
    """

    name: str
    n_classes: int
    train: Split
    validation: Split
    evaluation: Split
    prepare: Preparation
    is_augmented: bool = False
    data_set: str = ""

    def __post_init__(self) -> None:
        """Check the examples once, so that training need not do it in every step."""
        if self.train.labels.device.type != "cpu":
            return  # they were checked where they come from; here one would have to wait for them
        for part in ("train", "validation", "evaluation"):
            labels = getattr(self, part).labels
            if not len(labels) or labels.min() < 0 or labels.max() >= self.n_classes:
                raise ConfigError(
                    f"task {self.name}: there must be {part} images with labels in "
                    f"0 ... {self.n_classes - 1}, but got {len(labels)} with labels "
                    f"{sorted(set(labels.tolist()))}."
                )

    def training_batch(self, chosen: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Images to train on, cropped and flipped at random where the task asks for it."""
        chosen = chosen.to(self.train.labels.device)
        images = self.train.images(chosen)
        if self.is_augmented:
            images = augmented(images, generator)
        return self.prepare(images), self.train.labels[chosen]

    def examples(self, split: Split) -> Examples:
        """A split of this task, prepared."""
        return Examples(split, self.prepare)

    def to(self, device: torch.device) -> "Task":
        """The same task on another device."""
        validation = self.validation.to(device)
        is_judged = self.evaluation is self.validation
        return replace(
            self,
            train=self.train.to(device),
            validation=validation,
            evaluation=validation if is_judged else self.evaluation.to(device),
            prepare=self.prepare.to(device),
        )


@dataclass(frozen=True)
class TaskStream:
    """The tasks of a benchmark in order, all with images of one shape."""

    tasks: tuple[Task, ...]

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    def __getitem__(self, t: int) -> Task:
        return self.tasks[t]

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of an image: (channels, height, width)."""
        first = self.tasks[0]
        return tuple(first.prepare(first.train.images(slice(1))).shape[1:])

    @property
    def data_sets(self) -> tuple[str, ...]:
        """The data set of each task; nothing where all are of the same one."""
        return tuple(task.data_set for task in self.tasks) if self.tasks[0].data_set else ()

    @property
    def n_classes(self) -> list[int]:
        """The number of classes of each task."""
        return [task.n_classes for task in self.tasks]

    def fingerprint(self) -> str:
        """A hash over every task's examples, in order: what a resumed run must find again."""
        digest = hashlib.sha256()
        for task in self.tasks:
            for split in (task.train, task.validation, task.evaluation):
                digest.update(split.index.cpu().numpy().tobytes())
                digest.update(split.labels.cpu().numpy().tobytes())
                digest.update(split.images(slice(64)).cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def to(self, device: torch.device) -> "TaskStream":
        """The same tasks on another device."""
        return TaskStream(tuple(task.to(device) for task in self.tasks))


BENCHMARKS: Registry[Callable[..., TaskStream]] = Registry("benchmark")
