"""The rise of a task's loss when single parameters are removed or shifted.

A parameter has a say in one unit of its layer only. So a layer is run once for many changed
parameters, of different units; what is behind it is run once for each of them, and of the next
layer only the part that comes from the unit that has changed.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from mpnet.benchmarks import Examples
from mpnet.errors import ConfigError
from mpnet.layers import Posterior
from mpnet.layers.moment import shared_variances, validation
from mpnet.metrics import Vector
from mpnet.networks import Network

_BATCH = 250  # images at a time: their activations in double precision are held in memory

Change = Callable[[Posterior, Tensor], None]  # of the parameters where a mask is true


class Choice(NamedTuple):
    """One parameter of a network.

    Args:
        path: of the tensor that it stands in.
        place: in that tensor, counted through.
        unit: of the layer's outputs, the one that it has a say in.
        mean: its value.
        var: its variance; NaN where it has none.
    """

    path: str
    place: int
    unit: int
    mean: float
    var: float

    @property
    def layer(self) -> int:
        """The place of its layer in the trunk."""
        return int(self.path.split(".")[1])


def draw(posteriors: Sequence[Posterior], n: int, generator: torch.Generator) -> list[Choice]:
    """At most `n` parameters of these tensors, all equally likely, none twice."""
    sizes = [posterior.mean.numel() for posterior in posteriors]
    places = torch.randperm(sum(sizes), generator=generator)[:n]
    found = []
    for posterior, first in zip(posteriors, np.cumsum([0, *sizes]), strict=False):
        inside = places[(places >= first) & (places < first + posterior.mean.numel())] - int(first)
        found += [_choice(posterior, place) for place in inside.tolist()]
    return found


def _choice(posterior: Posterior, place: int) -> Choice:
    mean, var = posterior.mean, posterior.var
    certainty = torch.nan if var is None else float(var.reshape(-1)[place])
    unit = place // (mean.numel() // len(mean))
    return Choice(posterior.path, place, unit, float(mean.reshape(-1)[place]), certainty)


def shift_by(delta: float) -> Change:
    """The mean moved by `delta`, the variance as it is."""

    def shifted(posterior: Posterior, chosen: Tensor) -> None:
        posterior.mean.add_(chosen, alpha=delta)

    return shifted


def precise(network: Network) -> Network:
    """A copy in double precision, in evaluation mode: one parameter may change a loss by 1e-9."""
    return copy.deepcopy(network).double().eval()


@torch.no_grad()
def loss_increases(
    network: Network,
    choices: Sequence[Choice],
    examples: Examples,
    t: int,
    changes: Sequence[Change],
) -> Vector:
    """Rise of the mean negative log-likelihood of task `t` for each choice, by itself.

    Args:
        network: in double precision; it is put back, bit for bit.
        choices: parameters of one layer of the trunk.
        examples: of the task.
        t: whose head answers.
        changes: over whose increases the mean is taken.
    """
    probe = _Probe(network, _checked(choices).layer, t)
    total = np.zeros(len(choices))
    with validation(False), shared_variances():
        for images, labels in examples.batches(_BATCH):
            probe.show(images.double(), labels)
            for change in changes:
                total += len(labels) * probe.increases(choices, change)
    return total / (len(examples) * len(changes))


def _checked(choices: Sequence[Choice]) -> Choice:
    """The first of some choices, all of one layer.

    Raises:
        ConfigError: they stand deeper in the trunk, where a unit may not be told.
    """
    first = choices[0]
    assert all(choice.layer == first.layer for choice in choices)
    if first.path.count(".") != 2:
        raise ConfigError(
            "removal: every layer must stand in the trunk itself, such as trunk.1.weight, but "
            f"got {first.path}; give a run of network mlp or alexnet."
        )
    return first


class _Probe:
    """A layer of a network with a batch in front of it: what its changes do to the loss.

    Behind it come layers without parameters, `between`, then `next`, then the rest.
    """

    def __init__(self, network: Network, layer: int, t: int) -> None:
        trunk = cast(nn.Sequential, network.trunk)
        self.layers, self.t = network.layers, t
        self.before, self.module = trunk[:layer], trunk[layer]
        behind = [*trunk[layer + 1 :], network.heads[t]]
        is_affine = [any(True for _ in module.parameters()) for module in behind]
        n = is_affine.index(True)
        self.between, self.next = nn.Sequential(*behind[:n]), behind[n]
        self.behind = nn.Sequential(*behind[n + 1 :])
        self.posteriors = {p.path: p for p in self.layers.posteriors(network)}

    def show(self, images: Tensor, labels: Tensor) -> None:
        """Run a batch through the unchanged network."""
        self.labels = labels
        self.input = self.before(self.layers.input(images, self.t))
        self.output = self.module(self.input)
        self.hidden = self.between(self.output)
        self.next_output = self.next(self.hidden)
        self.loss = self._loss(self.output)

    def increases(self, choices: Sequence[Choice], change: Change) -> Vector:
        """Rise of the batch's loss for each choice."""
        found = np.zeros(len(choices))
        for places in _portions(choices):
            changed = self._changed([choices[i] for i in places], change)
            for i in places:
                value = self.layers.with_unit(self.output, changed, choices[i].unit)
                found[i] = self._loss(value) - self.loss
        return found

    def _loss(self, value: Any) -> float:
        hidden = self.between(value)
        output = self.layers.updated(self.next, self.next_output, self.hidden, hidden)
        return float(self.layers.nll(self.behind(output), self.labels))

    def _changed(self, choices: Sequence[Choice], change: Change) -> Any:
        """The layer's output with all these parameters changed; they are put back."""
        paths = sorted({choice.path for choice in choices})
        before = {name: value.clone() for name, value in self.module.state_dict().items()}
        for path in paths:
            posterior = self.posteriors[path]
            chosen = torch.zeros_like(posterior.mean, dtype=torch.bool)
            chosen.view(-1)[[c.place for c in choices if c.path == path]] = True
            change(posterior, chosen)
        with shared_variances():  # afresh: those around are of the unchanged network
            output = self.module(self.input)
        self.module.load_state_dict(before)
        return output


def _portions(choices: Sequence[Choice]) -> Iterator[list[int]]:
    """Places of choices in as few parts as there can be without one unit twice in a part."""
    of_unit: dict[int, list[int]] = {}
    for i, choice in enumerate(choices):
        of_unit.setdefault(choice.unit, []).append(i)
    for round_ in range(max(map(len, of_unit.values()))):
        yield [places[round_] for places in of_unit.values() if round_ < len(places)]
