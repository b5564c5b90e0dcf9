"""What the affine layers share: Gaussian weights and biases, and their initial values."""

import math

import torch
from torch import Tensor, nn

from mpnet.layers.moment.parameter import GaussianParameter


class Affine(nn.Module):
    """A layer with a Gaussian weight and, usually, a Gaussian bias.

    Args:
        weight_shape: output features first; the rest is the fan-in.
        bias: whether the layer has one.
        rho: initial value behind every variance; the paper searches -10 to -18.
    """

    bias: GaussianParameter | None

    def __init__(self, weight_shape: tuple[int, ...], bias: bool, rho: float) -> None:
        super().__init__()
        self.weight = GaussianParameter(he_normal(weight_shape), rho)
        self.bias = GaussianParameter(torch.zeros(weight_shape[0]), rho) if bias else None

    def weight_and_bias(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Mean and variance of the weight, then of the bias (zeros where there is none)."""
        weight_mean, weight_var = self.weight.mean, self.weight.var
        if self.bias is None:
            zeros = weight_mean.new_zeros(weight_mean.shape[0])
            return weight_mean, weight_var, zeros, zeros
        return weight_mean, weight_var, self.bias.mean, self.bias.var


def he_normal(shape: tuple[int, ...]) -> Tensor:
    """Initial means for layers followed by a ReLU: N(0, 2 / fan_in)."""
    return torch.randn(shape) * math.sqrt(2 / math.prod(shape[1:]))
