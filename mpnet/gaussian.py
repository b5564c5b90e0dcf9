"""Gaussian posteriors over single parameters: variance, log-variance, SNR, KL.

Everything is in terms of `rho`, the trained value behind a variance: var = softplus(rho). The
paper searches rho between -10 and -18, where `log(1 + exp(rho))` is already 0 in single precision
and softplus is not.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from mpnet.optimiser import gradients_of

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


class Known(NamedTuple):
    """A tensor of Gaussian parameters and its prior, with the variance and its slope by rho."""

    mean: Tensor
    rho: Tensor
    var: Tensor
    slope: Tensor
    prior_mean: Tensor
    prior_var: Tensor


@torch.no_grad()
def add_kl_gradient(
    members: Sequence[Known], tau: float | Sequence[Tensor], of_rho: bool = True
) -> None:
    """Add the gradient of `total_kl` to the gradients of means and rhos, in closed form.

    A fraction of what autograd takes for it, since neither logarithm nor graph is needed. In-place
    operations throughout: a fresh tensor of this size costs more than the arithmetic on it. Each
    is one for all members, which a GPU starts as one.

    Args:
        members: those whose mean or rho needs no gradient are left alone.
        tau: one weight for all, or one tensor for each member.
        of_rho: whether those of the rhos are wanted.
    """
    by_mean, taus = _chosen(members, tau, [m.mean.requires_grad for m in members])
    scale = tau if isinstance(tau, float) else 1.0
    if by_mean:
        mean, _, _, _, prior_mean, prior_var = _lists(by_mean)
        shift = torch._foreach_sub(mean, prior_mean)
        if taus:
            torch._foreach_mul_(shift, taus)
        torch._foreach_addcdiv_(gradients_of(mean), shift, prior_var, value=scale)
    by_rho, taus = _chosen(members, tau, [m.rho.requires_grad and of_rho for m in members])
    if by_rho:
        _, rho, var, slope, _, prior_var = _lists(by_rho)
        excess = torch._foreach_div(var, prior_var)
        torch._foreach_sub_(excess, 1)
        torch._foreach_div_(excess, var)  # 1 / prior_var - 1 / var
        if taus:
            torch._foreach_mul_(excess, taus)
        torch._foreach_addcmul_(gradients_of(rho), excess, slope, value=0.5 * scale)


@torch.no_grad()
def natural_step(members: Sequence[Known], tau: float | Sequence[Tensor], rate: float) -> None:
    """Move variances towards where the ELBO is stationary, given the likelihood's gradient of rho.

    With g the derivative of the negative log-likelihood by the variance, that is where 1 / var =
    1 / prior_var + 2 g / tau; the precision goes the part `rate` of the way. A negative g, where
    a likelihood would rather be unsure, counts as 0: no variance is sought above the prior's, and
    precisions stay positive without the Bayesian learning rule's correction for them. (Under the
    Gaussian likelihood variances would otherwise grow without end.)

    Args:
        members: those whose rho has no gradient are left alone.
        tau: one weight for all, or one tensor for each member.
        rate: part of the way.
    """
    moved, taus = _chosen(members, tau, [m.rho.grad is not None for m in members])
    if not moved:
        return
    _, rhos, old, slopes, _, prior_var = _lists(moved)
    target = gradients_of(rhos)
    torch._foreach_div_(target, slopes)
    torch._foreach_clamp_min_(target, 0)
    torch._foreach_mul_(target, 2 / tau if isinstance(tau, float) else [2 / w for w in taus])
    torch._foreach_add_(target, torch._foreach_reciprocal(prior_var))
    torch._foreach_mul_(target, old)
    torch._foreach_sub_(target, 1)
    torch._foreach_mul_(target, rate)
    torch._foreach_add_(target, 1)
    var = torch._foreach_div(old, target)
    _set_to_rho_of(rhos, var)
    for rho in rhos:
        rho.grad = None


def _set_to_rho_of(rhos: list[Tensor], var: tuple[Tensor, ...]) -> None:
    """The rhos whose softplus are the given variances, which are above zero: log(exp(var) - 1)."""
    torch._foreach_copy_(rhos, var)
    torch._foreach_neg_(rhos)
    torch._foreach_expm1_(rhos)
    torch._foreach_neg_(rhos)
    torch._foreach_log_(rhos)
    torch._foreach_add_(rhos, var)


def _chosen(
    members: Sequence[Known], tau: float | Sequence[Tensor], is_chosen: Sequence[bool]
) -> tuple[list[Known], list[Tensor]]:
    """Some of the members, and their weights where each has one."""
    weights = [] if isinstance(tau, float) else compress(tau, is_chosen)
    return list(compress(members, is_chosen)), list(weights)


def _lists(members: Sequence[Known]) -> Iterator[list[Tensor]]:
    """One list for each field."""
    return map(list, zip(*members, strict=True))
