"""The contract of a layer family: what a network is built from and how its output is judged.

A network is written once, in terms of a family; what flows between its layers is the family's own
value (a tensor, a mean with a variance, ...). The family owns the likelihood; protection of old
tasks belongs to the method.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mpnet.errors import ConfigError
from mpnet.registry import Registry, import_members

FAMILIES: Registry[Callable[..., "LayerFamily"]] = Registry("layer family")


class Prediction(NamedTuple):
    """Class probabilities (batch, classes) and, where the family knows it, their variance."""

    probabilities: Tensor
    variance: Tensor | None


class Posterior(NamedTuple):
    """What a network knows of one tensor of its parameters; the tensors are the network's own.

    Args:
        path: of the tensor in the network, such as trunk.1.weight.
        mean: its values, where there is no variance.
        rho: what is trained behind the variance, or None; may be one for all weights of a unit.
        var: in the shape of the mean, or None.
    """

    path: str
    mean: Tensor
    rho: Tensor | None = None
    var: Tensor | None = None

    @torch.no_grad()
    def remove(self, chosen: Tensor) -> None:
        """Make some parameters exactly 0, without variance; one that a unit shares stays."""
        self.mean.masked_fill_(chosen, 0.0)
        if self.rho is not None and self.rho.shape == self.mean.shape:
            self.rho.masked_fill_(chosen, -torch.inf)  # of which softplus is 0


def plain_posteriors(network: nn.Module) -> Iterator[Posterior]:
    """Weights and biases of the layers of torch.nn; scale and shift of a batch norm are not."""
    for path, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv2d):
            for name, value in module.named_parameters():
                yield Posterior(f"{path}.{name}", value.detach())


class LayerFamily(ABC):
    """Makers of layers, named after those of torch.nn, and the two ends of a network.

    Attributes:
        is_deterministic: whether layers at evaluation give the same for an image every time.
    """

    is_deterministic = True

    @abstractmethod
    def linear(self, in_features: int, out_features: int) -> nn.Module:
        """An affine map."""

    def from_torch(self, network: nn.Module) -> nn.Module:
        """A network of torch.nn, in layers of this family.

        Raises:
            ConfigError: there is no way to.
        """
        raise ConfigError(
            f"network: one by import path must have moment or plain layers, but the method needs "
            f"{type(self).__name__}; take a registered network or another method."
        )

    def head(self, in_features: int, out_features: int) -> nn.Module:
        """The affine map that ends a network for one task."""
        return self.linear(in_features, out_features)

    @abstractmethod
    def conv2d(self, in_channels: int, out_channels: int, kernel_size: int) -> nn.Module:
        """A convolution with stride 1 and no padding."""

    @abstractmethod
    def batch_norm1d(self, num_features: int) -> nn.Module:
        """Batch normalisation of (batch, features)."""

    @abstractmethod
    def batch_norm2d(self, num_features: int) -> nn.Module:
        """Batch normalisation of (batch, channels, height, width)."""

    @abstractmethod
    def relu(self) -> nn.Module:
        """Rectification."""

    @abstractmethod
    def max_pool2d(self, kernel_size: int) -> nn.Module:
        """Max-pooling with windows side by side."""

    @abstractmethod
    def dropout(self, p: float) -> nn.Module:
        """Dropout."""

    def gate(self, n_units: int) -> list[nn.Module]:
        """A gate for every unit or channel of a hidden layer; no module in most families."""
        return []

    @abstractmethod
    def flatten(self) -> nn.Module:
        """Images to vectors."""

    @abstractmethod
    def sequential(self, *layers: nn.Module) -> nn.Module:
        """Layers in order; a family may rearrange them where the result stays the same."""

    @abstractmethod
    def input(self, x: Tensor, t: int) -> Any:
        """The value that enters the first layer for a batch of task `t`."""

    @abstractmethod
    def rows(self, value: Any, start: int, end: int) -> Any:
        """The value of some examples of a batch."""

    def packed(self, value: Any) -> Tensor:
        """A value of a batch as one tensor, an example in each row; see `unpacked`."""
        assert isinstance(value, Tensor)
        return value

    def unpacked(self, packed: Tensor) -> Any:
        """The value of some examples, of which `packed` gave the rows."""
        return packed

    @abstractmethod
    def with_unit(self, value: Any, other: Any, unit: int) -> Any:
        """A copy of a value in which one unit or channel is that of another."""

    def updated(self, layer: nn.Module, output: Any, before: Any, after: Any) -> Any:
        """What a layer gives for `after`, known what it gave for `before`: less work, if it can.

        A family may use that most units of both are the same.
        """
        return layer(after)

    @abstractmethod
    def nll(self, output: Any, labels: Tensor) -> Tensor:
        """Mean negative log-likelihood of labels under the value that leaves a head."""

    @abstractmethod
    def predict(self, output: Any) -> Prediction:
        """Class probabilities from the value that leaves a head."""

    def posteriors(self, network: nn.Module) -> list[Posterior]:
        """Every weight and bias of a network, in the order of registration."""
        return list(plain_posteriors(network))

    def anneal(self, progress: float | Tensor) -> None:  # noqa: B027 - most families have nothing to anneal
        """Set what depends on how much of a task's training is done, 0 to 1."""


def name_layers(root: nn.Module) -> None:
    """Tell every layer its place below `root`, for error messages."""
    for path, module in root.named_modules():
        module.path = path


import_members(__name__, __path__)
