"""Deterministic layers: torch.nn as it is, with the cross-entropy as likelihood."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mpnet.layers import FAMILIES, LayerFamily, Prediction


@FAMILIES.register("plain")
class PlainLayers(LayerFamily):
    """torch.nn as it is."""

    def from_torch(self, network: nn.Module) -> nn.Module:
        """The network as it is."""
        return network

    def linear(self, in_features: int, out_features: int) -> nn.Module:
        """torch.nn.Linear."""
        return nn.Linear(in_features, out_features)

    def conv2d(self, in_channels: int, out_channels: int, kernel_size: int) -> nn.Module:
        """torch.nn.Conv2d."""
        return nn.Conv2d(in_channels, out_channels, kernel_size)

    def batch_norm1d(self, num_features: int) -> nn.Module:
        """torch.nn.BatchNorm1d."""
        return nn.BatchNorm1d(num_features)

    def batch_norm2d(self, num_features: int) -> nn.Module:
        """torch.nn.BatchNorm2d."""
        return nn.BatchNorm2d(num_features)

    def relu(self) -> nn.Module:
        """torch.nn.ReLU."""
        return nn.ReLU()

    def max_pool2d(self, kernel_size: int) -> nn.Module:
        """torch.nn.MaxPool2d."""
        return nn.MaxPool2d(kernel_size)

    def dropout(self, p: float) -> nn.Module:
        """torch.nn.Dropout."""
        return nn.Dropout(p)

    def flatten(self) -> nn.Module:
        """torch.nn.Flatten."""
        return nn.Flatten()

    def sequential(self, *layers: nn.Module) -> nn.Module:
        """torch.nn.Sequential."""
        return nn.Sequential(*layers)

    def input(self, x: Tensor, t: int) -> Tensor:
        """The batch; images in the memory format in which convolutions are fastest."""
        return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x

    def rows(self, value: Tensor, start: int, end: int) -> Tensor:
        """A slice of the batch."""
        return value[start:end]

    def with_unit(self, value: Tensor, other: Tensor, unit: int) -> Tensor:
        """A copy of `value` with the unit from `other`; the second dimension holds units."""
        copy = value.clone()
        copy[:, unit] = other[:, unit]
        return copy

    def updated(self, layer: nn.Module, output: Tensor, before: Tensor, after: Tensor) -> Tensor:
        """The output for `after`; a linear layer only adds what comes from units that differ."""
        if not isinstance(layer, nn.Linear):
            changed: Tensor = layer(after)
            return changed
        units = (after != before).any(0)
        return output + (after[:, units] - before[:, units]) @ layer.weight[:, units].T

    def nll(self, output: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy."""
        return F.cross_entropy(output, labels)

    def predict(self, output: Tensor) -> Prediction:
        """Softmax."""
        return Prediction(output.softmax(-1), None)
