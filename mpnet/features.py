"""What a resting trunk makes of images, computed once: all that is left to train is a head."""

from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import nn

from mpnet.benchmarks import Split, Task, TaskStream
from mpnet.layers.moment import shared_variances, validation
from mpnet.methods import Method
from mpnet.networks import Network

_BATCH = 1000


class Course(NamedTuple):
    """Where batches come from and what they go through: images and all layers, or less."""

    stream: TaskStream
    network: Network


def course(method: Method, stream: TaskStream, t: int) -> Course:
    """The shortest course that trains task `t` alike.

    On one CPU thread it is so to the last bit; on several, products of small batches are summed in
    another order. Features take 4 or 8 bytes per unit and image.
    """
    tasks = method.training_tasks(t)
    if not method.trunk_rests(t) or any(stream[i].is_augmented for i in tasks):
        return Course(stream, method.network)
    method.network.trunk.eval()
    known = [
        _known(method.network, task, i) if i in tasks else task for i, task in enumerate(stream)
    ]
    return Course(TaskStream(tuple(known)), _HeadsAlone(method.network))


class _HeadsAlone(Network):
    """The heads of a network; what comes in are features."""

    def __init__(self, network: Network) -> None:
        nn.Module.__init__(self)
        self.layers, self.heads = network.layers, network.heads

    @property
    def separates_tasks(self) -> bool:
        """Whether groups of a batch stay apart: there is nothing that they could share."""
        return True

    def features(self, x: Any, t: int) -> Any:
        """The same."""
        return x


def _known(network: Network, task: Task, t: int) -> Task:
    """The same task with features for images."""
    return replace(
        task,
        train=_features(network, task, task.train, t),
        validation=_features(network, task, task.validation, t),
        prepare=network.layers.unpacked,  # type: ignore[arg-type]  # nothing else is to be done
    )


@torch.no_grad()
def _features(network: Network, task: Task, split: Split, t: int) -> Split:
    with shared_variances(), validation(False):
        parts = [
            network.layers.packed(network.features(images, t))
            for images, _ in task.examples(split).batches(_BATCH)
        ]
    return Split(torch.cat(parts), torch.arange(len(split), device=parts[0].device), split.labels)
