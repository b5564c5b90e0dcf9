"""Moments of element-wise activations to first order: psi(m) and psi'(m)^2 v (Eq. 5).

The derivatives stand here in closed form; no graph is built inside a forward pass. The paper
writes the same rule for the softmax, which is not element-wise: see `softmax.py`.
"""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from mpnet.layers.moment.moments import Moments, check_moments


class Activation(nn.Module, ABC):
    """An element-wise function, given by its value and its slope."""

    @abstractmethod
    def value(self, x: Tensor) -> Tensor:
        """psi(x)."""

    @abstractmethod
    def slope(self, x: Tensor, value: Tensor) -> Tensor:
        """psi'(x), which may use value = psi(x)."""

    def forward(self, x: Tensor | Moments) -> Moments:
        """Moments of any shape, element by element."""
        mean, var = check_moments(self, x)
        value = self.value(mean)
        if var is None:
            return Moments(value)
        return Moments(value, var * self.slope(mean, value).square())


class _ReLUMoments(torch.autograd.Function):
    """Both moments pass where the mean is positive; the output mean is the mask for backward."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
        out_mean = F.relu(mean)
        ctx.save_for_backward(out_mean)
        return out_mean, torch.ops.aten.threshold_backward(var, out_mean, 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_var: Tensor) -> tuple[Tensor, Tensor]:
        (out_mean,) = ctx.saved_tensors
        return (
            torch.ops.aten.threshold_backward(grad_mean, out_mean, 0),
            torch.ops.aten.threshold_backward(grad_var, out_mean, 0),
        )


class ReLU(nn.Module):
    """max(x, 0): the variance passes where the mean is positive."""

    is_monotone = True

    def forward(self, x: Tensor | Moments) -> Moments:
        """Moments of any shape, element by element."""
        mean, var = check_moments(self, x)
        if var is None:
            return Moments(F.relu(mean))
        return Moments(*_ReLUMoments.apply(mean, var))


class _RectifiedGaussian(torch.autograd.Function):
    """Mean E and variance of max(x, 0) for x of N(m, v), with r = m / sqrt(v).

    E = m Phi(r) + sqrt(v) phi(r). For Gaussians d/dv E[f] = E[f''] / 2, so that dE/dv = phi(r) /
    (2 sqrt(v)) and the second moment's is Phi(r): a few products where autograd takes dozens.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
        # So far above the smallest number that mean / var, which the gradient needs, stays finite.
        sigma = var.clamp_min(torch.finfo(var.dtype).tiny ** 0.75).sqrt()
        # Tails below rounding are zero: as denormal numbers they would slow a CPU down tenfold.
        limit = math.sqrt(-2 * math.log(0.1 * torch.finfo(var.dtype).eps))
        ratio = (mean / sigma).clamp_(-limit, limit).mul_(math.sqrt(0.5))
        tail = 0.501 * math.erfc(limit * math.sqrt(0.5))
        above = F.threshold(torch.erfc(-ratio).mul_(0.5), tail, 0.0)
        below = F.threshold(torch.erfc(ratio).mul_(0.5), tail, 0.0)
        density = ratio.square_().neg_().exp_()
        density = F.threshold(density, 1.01 * math.exp(-0.5 * limit**2), 0.0)
        density.mul_(1 / math.sqrt(2 * math.pi))
        spread = sigma * density
        out_mean = torch.addcmul(spread, mean, above)
        ctx.save_for_backward(out_mean, above, below, density.div_(sigma))
        # E[x^2] - E[x]^2, arranged so that it does not cancel for large |ratio|.
        shared = torch.mul(mean, below).sub_(spread).mul_(out_mean)
        out_var = shared.addcmul_(var, above)
        return out_mean, out_var.clamp_min_(0)  # rounding may leave -1e-8 of the variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_var: Tensor) -> tuple[Tensor, Tensor]:
        out_mean, above, below, density = ctx.saved_tensors
        pull = out_mean * grad_var
        to_mean = torch.mul(grad_mean, above).addcmul_(pull, below, value=2)
        to_var = torch.mul(grad_mean, 0.5).sub_(pull).mul_(density).addcmul_(grad_var, above)
        return to_mean, to_var


class GaussianReLU(nn.Module):
    """max(x, 0) with the exact mean and variance of a rectified Gaussian."""

    def forward(self, x: Tensor | Moments) -> Moments:
        """Moments of any shape, element by element."""
        mean, var = check_moments(self, x)
        if var is None:
            return Moments(F.relu(mean))
        return Moments(*_RectifiedGaussian.apply(mean, var))


class LeakyReLU(Activation):
    """x where positive, negative_slope * x elsewhere."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def value(self, x: Tensor) -> Tensor:
        """x or a fraction of it."""
        return F.leaky_relu(x, self.negative_slope)

    def slope(self, x: Tensor, value: Tensor) -> Tensor:
        """1 or the fraction."""
        return torch.where(x > 0, 1.0, self.negative_slope).to(x.dtype)

    def extra_repr(self) -> str:
        """The slope, as torch.nn.LeakyReLU shows it."""
        return f"negative_slope={self.negative_slope}"


class Tanh(Activation):
    """Hyperbolic tangent."""

    def value(self, x: Tensor) -> Tensor:
        """tanh(x)."""
        return torch.tanh(x)

    def slope(self, x: Tensor, value: Tensor) -> Tensor:
        """1 - tanh(x)^2."""
        return 1 - value.square()


class Sigmoid(Activation):
    """Logistic function."""

    def value(self, x: Tensor) -> Tensor:
        """1 / (1 + exp(-x))."""
        return torch.sigmoid(x)

    def slope(self, x: Tensor, value: Tensor) -> Tensor:
        """s (1 - s)."""
        return value * (1 - value)


class GELU(Activation):
    """x Phi(x), with the Gaussian distribution function Phi."""

    def value(self, x: Tensor) -> Tensor:
        """x Phi(x)."""
        return F.gelu(x)

    def slope(self, x: Tensor, value: Tensor) -> Tensor:
        """Phi(x) + x phi(x)."""
        density = torch.exp(-0.5 * x.square()) / math.sqrt(2 * math.pi)
        return torch.special.ndtr(x) + x * density


class SiLU(Activation):
    """x sigmoid(x)."""

    def value(self, x: Tensor) -> Tensor:
        """x sigmoid(x)."""
        return F.silu(x)

    def slope(self, x: Tensor, value: Tensor) -> Tensor:
        """s (1 + x (1 - s))."""
        gate = torch.sigmoid(x)
        return gate * (1 + x * (1 - gate))
