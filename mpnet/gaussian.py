"""Gaussian posteriors over single parameters: variance, log-variance, SNR, KL.

Everything is in terms of `rho`, the trained value behind a variance: var = softplus(rho). The
paper searches rho between -10 and -18, where `log(1 + exp(rho))` is already 0 in single precision
and softplus is not.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

# Below this, softplus(rho) and exp(rho) agree to the last bit of single precision.
_EXPONENTIAL_BELOW = -17.0


def variance(rho: Tensor) -> Tensor:
    """softplus(rho)."""
    return F.softplus(rho)


class _KnownVariance(torch.autograd.Function):
    """softplus(rho) where both it and its slope have been computed before."""

    @staticmethod
    def forward(ctx: Any, rho: Tensor, var: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(slope)
        return var.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_var: Tensor) -> tuple[Tensor, None, None]:
        (slope,) = ctx.saved_tensors
        return grad_var * slope, None, None


def known_variance(rho: Tensor, var: Tensor, slope: Tensor) -> Tensor:
    """The given softplus(rho), differentiable in rho by the given slope."""
    return _KnownVariance.apply(rho, var, slope)


@torch.no_grad()
def variance_and_slope(rho: Tensor) -> tuple[Tensor, Tensor]:
    """softplus(rho) and its derivative, sigmoid(rho), as plain numbers."""
    return variance(rho), torch.sigmoid(rho)


def rho_of(var: Tensor) -> Tensor:
    """The rho whose softplus is the given variance, for every variance above zero."""
    return torch.expm1(-var).neg_().log_().add_(var)


def log_variance(rho: Tensor) -> Tensor:
    """log softplus(rho), finite for every finite rho."""
    is_exponential = rho < _EXPONENTIAL_BELOW
    # The inner `where` keeps log(0) and its NaN gradient out of the branch that is not taken.
    return torch.where(is_exponential, rho, variance(rho.masked_fill(is_exponential, 0.0)).log())


def snr(mean: Tensor, var: Tensor) -> Tensor:
    """Signal-to-noise ratio as the paper defines it: |mean| over the variance, not its root."""
    return mean.abs() / var


def kl(mean: Tensor, var: Tensor, prior_mean: Tensor, prior_var: Tensor) -> Tensor:
    """KL[q || p] of every single parameter.

    The paper's Eq. 6 divides the squared shift of the mean by the variance of q; the divergence of
    two Gaussians divides by that of p, and so do we: as printed it is 1e8 at the start of
    training.
    """
    ratio = var / prior_var
    return 0.5 * (ratio - 1 - ratio.log() + (mean - prior_mean).square() / prior_var)


def total_kl(
    mean: Tensor, var: Tensor, prior_mean: Tensor, prior_var: Tensor, tau: float | Tensor = 1.0
) -> Tensor:
    """Sum over parameters of tau * KL; `tau` is a scalar or has the parameters' shape."""
    return (tau * kl(mean, var, prior_mean, prior_var)).sum()


@torch.no_grad()
def add_kl_gradient(
    mean: Tensor,
    rho: Tensor,
    var_and_slope: tuple[Tensor, Tensor],
    prior: tuple[Tensor, Tensor],
    tau: float | Tensor,
    of_rho: bool = True,
) -> None:
    """Add the gradient of `total_kl` to the gradients of `mean` and `rho`, in closed form.

    A fraction of what autograd takes for it, since neither logarithm nor graph is needed. In-place
    operations throughout: a fresh tensor of this size costs more than the arithmetic on it.
    """
    (var, slope), (prior_mean, prior_var) = var_and_slope, prior
    scale = 1.0 if isinstance(tau, Tensor) else tau
    if mean.requires_grad:
        shift = mean - prior_mean
        if isinstance(tau, Tensor):
            shift.mul_(tau)
        _gradient(mean).addcdiv_(shift, prior_var, value=scale)
    if rho.requires_grad and of_rho:
        excess = (var / prior_var).sub_(1).div_(var)  # 1 / prior_var - 1 / var
        if isinstance(tau, Tensor):
            excess.mul_(tau)
        _gradient(rho).addcmul_(excess, slope, value=0.5 * scale)


@torch.no_grad()
def natural_step(
    rho: Tensor,
    var_and_slope: tuple[Tensor, Tensor],
    prior_var: Tensor,
    tau: float | Tensor,
    rate: float,
) -> None:
    """Move variances towards where the ELBO is stationary, given the likelihood's gradient of rho.

    With g the derivative of the negative log-likelihood by the variance, that is where 1 / var =
    1 / prior_var + 2 g / tau; the precision goes the part `rate` of the way. A negative g, where
    a likelihood would rather be unsure, counts as 0: no variance is sought above the prior's, and
    precisions stay positive without the Bayesian learning rule's correction for them. (Under the
    Gaussian likelihood variances would otherwise grow without end.)
    """
    if rho.grad is None:
        return
    var, slope = var_and_slope
    target = rho.grad.div_(slope).clamp_min_(0).mul_(2 / tau).add_(prior_var.reciprocal())
    rho.copy_(rho_of(var / target.mul_(var).sub_(1).mul_(rate).add_(1)))
    rho.grad = None


def _gradient(parameter: Tensor) -> Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad
