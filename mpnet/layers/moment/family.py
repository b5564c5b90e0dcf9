"""The moment layers as a family that networks are built from."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn

from mpnet.errors import ConfigError
from mpnet.layers import FAMILIES, LayerFamily, Posterior, Prediction
from mpnet.layers.moment.activation import GaussianReLU, ReLU
from mpnet.layers.moment.batchnorm import BatchNorm1d, BatchNorm2d
from mpnet.layers.moment.conv import Conv2d
from mpnet.layers.moment.convert import from_torch
from mpnet.layers.moment.dropout import Dropout
from mpnet.layers.moment.likelihood import ExpectedSoftmax, Gaussian, Likelihood, TightSoftmax
from mpnet.layers.moment.linear import Linear
from mpnet.layers.moment.moments import Moments
from mpnet.layers.moment.parameter import GaussianParameter
from mpnet.layers.moment.pool import MaxPool2d, pool_first
from mpnet.layers.moment.shape import Flatten
from mpnet.layers.moment.softmax import Softmax
from mpnet.registry import did_you_mean

T = TypeVar("T")


@FAMILIES.register("moment")
class MomentLayers(LayerFamily):
    """Layers that map a mean and a variance to a mean and a variance.

    Args:
        rho: initial value behind every parameter's variance; the paper searches -10 to -18.
        likelihood: "expected_softmax" (a bound on logits that cannot saturate) or "gaussian" (the
            paper's).
        relu: "taylor" (the paper's first-order rule) or "gaussian" (exact for Gaussian inputs).
        jitter: floor of the Gaussian likelihood's covariance.
        jitter_start: floor at the start of each task, at least `jitter`; None for no schedule.
        jitter_until: share of a task's training after which the floor is `jitter`.
        covariance: of the Gaussian likelihood, "full" or "diagonal".
    """

    def __init__(
        self,
        *,
        rho: Annotated[float, Ge(-80), Le(20)] = -12.0,
        likelihood: Literal["expected_softmax", "tight_softmax", "gaussian"] = "expected_softmax",
        relu: Literal["taylor", "gaussian"] = "taylor",
        jitter: Annotated[float, Gt(0)] = 0.1,
        jitter_start: Annotated[float, Gt(0)] | None = None,
        jitter_until: Annotated[float, Gt(0), Le(1)] = 0.5,
        covariance: Literal["full", "diagonal"] = "full",
    ) -> None:
        self.rho = rho
        self._relu = _one_of("relu", relu, {"taylor": ReLU, "gaussian": GaussianReLU})
        gaussian = Gaussian(
            jitter=jitter,
            jitter_start=jitter_start,
            jitter_until=jitter_until,
            covariance=covariance,
        )
        likelihoods = {
            "expected_softmax": ExpectedSoftmax(),
            "tight_softmax": TightSoftmax(),
            "gaussian": gaussian,
        }
        self.likelihood: Likelihood = _one_of("likelihood", likelihood, likelihoods)
        self._softmax = Softmax()

    def from_torch(self, network: nn.Module) -> nn.Module:
        """Its moment twin, with the rules of `convert.py`."""
        if self._relu is not ReLU:
            raise ConfigError(
                "layers.relu: must be taylor for a network by import path, but got gaussian."
            )
        return from_torch(network, rho=self.rho)

    def linear(self, in_features: int, out_features: int) -> nn.Module:
        """Gaussian affine map."""
        return Linear(in_features, out_features, rho=self.rho)

    def conv2d(self, in_channels: int, out_channels: int, kernel_size: int) -> nn.Module:
        """Gaussian convolution."""
        return Conv2d(in_channels, out_channels, kernel_size, rho=self.rho)

    def batch_norm1d(self, num_features: int) -> nn.Module:
        """Normalisation of both moments by the batch's means."""
        return BatchNorm1d(num_features)

    def batch_norm2d(self, num_features: int) -> nn.Module:
        """Normalisation of both moments by the batch's means, per channel."""
        return BatchNorm2d(num_features)

    def relu(self) -> nn.Module:
        """Rectification by the chosen rule."""
        return self._relu()

    def max_pool2d(self, kernel_size: int) -> nn.Module:
        """Max-pooling of the means, with the variance at the largest one."""
        return MaxPool2d(kernel_size)

    def dropout(self, p: float) -> nn.Module:
        """Dropout with one mask for both moments."""
        return Dropout(p)

    def flatten(self) -> nn.Module:
        """A layer that reshapes both moments alike."""
        return Flatten()

    def sequential(self, *layers: nn.Module) -> nn.Module:
        """Layers in order, pooled before a monotone activation: the same moments for less work."""
        return nn.Sequential(*pool_first(layers))

    def input(self, x: Tensor, t: int) -> Moments:
        """A deterministic input; images in the memory format in which convolutions are fastest."""
        return Moments(x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x)

    def rows(self, value: Moments, start: int, end: int) -> Moments:
        """A slice of both moments."""
        return Moments(value.mean[start:end], None if value.var is None else value.var[start:end])

    def packed(self, value: Moments) -> Tensor:
        """Mean and variance side by side."""
        return torch.stack([value.mean, value.dense_var], 1)

    def unpacked(self, packed: Tensor) -> Moments:
        """Both moments again."""
        return Moments(packed[:, 0], packed[:, 1])

    def with_unit(self, value: Moments, other: Moments, unit: int) -> Moments:
        """A copy of `value` with both moments of the unit from `other`."""
        mean, var = value.mean.clone(), value.dense_var.clone()
        mean[:, unit], var[:, unit] = other.mean[:, unit], other.dense_var[:, unit]
        return Moments(mean, var)

    def updated(
        self, layer: nn.Module, output: Moments, before: Moments, after: Moments
    ) -> Moments:
        """The output for `after`; a linear layer only adds what comes from units that differ."""
        if not isinstance(layer, Linear) or before.var is None or after.var is None:
            changed: Moments = layer(after)
            return changed
        units = (after.mean != before.mean).any(0) | (after.var != before.var).any(0)
        weight_mean, weight_var = layer.weight.mean[:, units], layer.weight.var[:, units]
        old_mean, new_mean = before.mean[:, units], after.mean[:, units]
        more_var = after.var[:, units] - before.var[:, units]
        more_square = new_mean.square() - old_mean.square() + more_var
        return Moments(
            output.mean + (new_mean - old_mean) @ weight_mean.T,
            output.dense_var + more_square @ weight_var.T + more_var @ weight_mean.square().T,
        )

    def nll(self, output: Moments, labels: Tensor) -> Tensor:
        """Mean negative log-likelihood of labels by the chosen likelihood."""
        nll: Tensor = self.likelihood(output, labels)
        return nll

    def predict(self, output: Moments) -> Prediction:
        """Softmax of the mean logits and its first-order variance."""
        p = self._softmax(output)
        return Prediction(p.mean, p.dense_var)

    def posteriors(self, network: nn.Module) -> list[Posterior]:
        """The posterior of every Gaussian parameter."""
        return [
            Posterior(path, m.mean.detach(), m.rho.detach(), m.var.detach())
            for path, m in network.named_modules()
            if isinstance(m, GaussianParameter)
        ]

    def anneal(self, progress: float | Tensor) -> None:
        """Move the likelihood's floor."""
        self.likelihood.anneal(progress)


def _one_of(option: str, name: str, choices: Mapping[str, T]) -> T:
    if name not in choices:
        hint = did_you_mean(name, choices)
        raise ConfigError(f"layers.{option}: no '{name}'; {hint}")
    return choices[name]
