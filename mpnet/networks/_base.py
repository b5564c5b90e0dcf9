"""What every network has: a shared trunk and one head per task."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from mpnet.errors import ConfigError, InputError
from mpnet.layers import LayerFamily
from mpnet.registry import Registry

NETWORKS = Registry("network")


class Trunk(NamedTuple):
    """The shared part of a network, the input it takes and the number of features it gives."""

    body: nn.Module
    input_shape: tuple[int, ...]
    n_features: int


class Network(nn.Module):
    """A shared trunk and one linear head per task; all heads exist from the start."""

    def __init__(self, layers: LayerFamily, trunk: Trunk, n_classes: Sequence[int]) -> None:
        if not n_classes or min(n_classes) < 1:
            raise ConfigError(
                "Network: there must be a task, and each must have at least one class, "
                f"but got {list(n_classes)}."
            )
        super().__init__()
        self.layers = layers
        self.input_shape = trunk.input_shape
        self.trunk = trunk.body
        self.heads = nn.ModuleList(layers.linear(trunk.n_features, n) for n in n_classes)
        for path, module in self.named_modules():
            module.path = path  # for error messages

    def forward(self, x: Tensor, t: int) -> Any:
        """(batch, *input_shape) to the family's value for the classes of task `t`."""
        features = self.features(x, t)
        return self.heads[t](features)

    def features(self, x: Tensor, t: int) -> Any:
        """(batch, *input_shape) to the family's value that a head takes."""
        if tuple(x.shape[1:]) != self.input_shape:
            expected = ", ".join(map(str, self.input_shape))
            raise InputError(
                f"Network: the input must have shape (batch, {expected}), "
                f"but got {tuple(x.shape)}."
            )
        if not 0 <= t < len(self.heads):
            raise InputError(
                f"Network: the task must lie in 0 ... {len(self.heads) - 1}, but got {t}."
            )
        return self.trunk(self.layers.input(x, t))

    def trunk_parameters(self) -> Iterator[nn.Parameter]:
        """What all tasks share."""
        return self.trunk.parameters()

    def head_parameters(self, t: int) -> Iterator[nn.Parameter]:
        """What belongs to task `t` alone."""
        return self.heads[t].parameters()
