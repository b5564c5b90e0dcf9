"""Moments of an affine map."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from mpnet.errors import InputError
from mpnet.layers.moment.affine import Affine
from mpnet.layers.moment.moments import Moments, check_moments, describe


class _LinearMoments(torch.autograd.Function):
    """Six matrix products backward for three forward, and nothing kept but the inputs.

    var = (m^2 + v) s + v mu^2 + s_b for input moments (m, v), weight moments (mu, s) and bias
    moments (mu_b, s_b).
    """

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        mean, var, weight_mean, weight_var, bias_mean, bias_var = tensors
        ctx.save_for_backward(mean, var, weight_mean, weight_var)
        out_var = torch.addmm(bias_var, torch.addcmul(var, mean, mean), weight_var.T)
        out_var.addmm_(var, (weight_mean * weight_mean).T)
        return torch.addmm(bias_mean, mean, weight_mean.T), out_var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_var: Tensor) -> tuple[Tensor | None, ...]:
        mean, var, weight_mean, weight_var = ctx.saved_tensors
        in_mean = in_var = to_mean = to_var = None
        if any(ctx.needs_input_grad[:2]):
            to_second_moment = grad_var @ weight_var
            in_mean = (grad_mean @ weight_mean).addcmul_(mean, to_second_moment, value=2)
            in_var = to_second_moment.addmm_(grad_var, weight_mean * weight_mean)
        if any(ctx.needs_input_grad[2:4]):
            to_var = grad_var.T @ torch.addcmul(var, mean, mean)
            to_mean = grad_mean.T @ mean
            to_mean.addcmul_(weight_mean, grad_var.T @ var, value=2)
        return in_mean, in_var, to_mean, to_var, grad_mean.sum(0), grad_var.sum(0)


class Linear(Affine):
    """Affine map with Gaussian weights and independent inputs (Eq. 3).

    Args:
        in_features: size of the last dimension of the input.
        out_features: size of the last dimension of the output.
        bias: whether to add a (Gaussian) bias.
        rho: initial value behind every variance; the paper searches -10 to -18.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, *, rho: float = -12.0
    ) -> None:
        super().__init__((out_features, in_features), bias, rho)
        self.in_features = in_features
        self.out_features = out_features

    def forward(self, x: Tensor | Moments) -> Moments:
        """(..., in_features) to (..., out_features)."""
        mean, var = self._check(x)
        weights = self.weight_and_bias()
        if var is None:
            weight_mean, weight_var, bias_mean, bias_var = weights
            return Moments(
                F.linear(mean, weight_mean, bias_mean), F.linear(mean * mean, weight_var, bias_var)
            )
        out = _LinearMoments.apply(mean.flatten(0, -2), var.flatten(0, -2), *weights)
        return Moments(*(z.unflatten(0, mean.shape[:-1]) for z in out))

    def _check(self, x: Tensor | Moments) -> Moments:
        checked = check_moments(self, x)
        shape = tuple(checked.mean.shape)
        if len(shape) < 2 or shape[-1] != self.in_features:
            raise InputError(
                f"{describe(self)}: the input must have shape (batch, ..., {self.in_features}), "
                f"but got {shape}."
            )
        return checked

    def extra_repr(self) -> str:
        """Sizes, as torch.nn.Linear shows them."""
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"
