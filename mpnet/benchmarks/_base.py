"""What every benchmark gives: tasks in order, each with what a run may see of it."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from mpnet.errors import ConfigError
from mpnet.registry import Registry

EvaluationSplit = Literal["validation", "test"]


@dataclass(frozen=True)
class Split:
    """Images (n, channels, height, width) as bytes and labels (n,), on the device that trains."""

    images: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "Split":
        """The same examples on another device."""
        return Split(self.images.to(device), self.labels.to(device))

    def where(self, chosen: Tensor) -> "Split":
        """The examples with these indices, or for which this mask is true."""
        return Split(self.images[chosen], self.labels[chosen])


@dataclass(frozen=True)
class Normalisation:
    """Bytes to floats with mean 0 and standard deviation 1 per channel of the base data set."""

    mean: Tensor
    std: Tensor

    @staticmethod
    def of(images: Tensor) -> "Normalisation":
        """The statistics of (n, channels, height, width) bytes."""
        std, mean = torch.std_mean(images.double() / 255, (0, 2, 3), correction=0)
        shape = (1, -1, 1, 1)
        return Normalisation(mean.float().view(shape), std.float().view(shape))

    def __call__(self, images: Tensor) -> Tensor:
        return (images.float() / 255 - self.mean) / self.std

    def to(self, device: torch.device) -> "Normalisation":
        """The same constants on another device."""
        return Normalisation(self.mean.to(device), self.std.to(device))


@dataclass(frozen=True)
class Task:
    """One task: what is trained on, what picks the best weights, and the one split that is judged.

    In a run that evaluates `validation` the last two are the same and no test data are loaded.
    """

    name: str
    n_classes: int
    train: Split
    validation: Split
    evaluation: Split
    normalise: Normalisation

    def __post_init__(self) -> None:
        """Check the examples once, so that training need not do it in every step."""
        for part in ("train", "validation", "evaluation"):
            labels = getattr(self, part).labels
            if not len(labels) or labels.min() < 0 or labels.max() >= self.n_classes:
                raise ConfigError(
                    f"task {self.name}: there must be {part} images with labels in "
                    f"0 ... {self.n_classes - 1}, but got {len(labels)} with labels "
                    f"{sorted(set(labels.tolist()))}."
                )

    def to(self, device: torch.device) -> "Task":
        """The same task on another device."""
        validation = self.validation.to(device)
        is_judged = self.evaluation is self.validation
        return replace(
            self,
            train=self.train.to(device),
            validation=validation,
            evaluation=validation if is_judged else self.evaluation.to(device),
            normalise=self.normalise.to(device),
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
        """(channels, height, width)."""
        return tuple(self.tasks[0].train.images.shape[1:])

    @property
    def n_classes(self) -> list[int]:
        """Of each task."""
        return [task.n_classes for task in self.tasks]

    def fingerprint(self) -> str:
        """A hash over every image and label, in order: what a resumed run must find again."""
        digest = hashlib.sha256()
        for task in self.tasks:
            for split in (task.train, task.validation, task.evaluation):
                digest.update(split.images.contiguous().numpy().tobytes())
                digest.update(split.labels.contiguous().numpy().tobytes())
        return digest.hexdigest()

    def to(self, device: torch.device) -> "TaskStream":
        """All tasks on another device."""
        return TaskStream(tuple(task.to(device) for task in self.tasks))


BENCHMARKS: Registry[Callable[..., TaskStream]] = Registry("benchmark")


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
