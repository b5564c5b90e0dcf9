"""A tensor of independent Gaussian parameters, with the prior it is held against."""

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from itertools import repeat
from typing import Any

import torch
from torch import Tensor, nn

from mpnet import gaussian
from mpnet.errors import InputError

# By the identity of rho, which is kept alive beside its variance and slope.
_Shared = dict[int, tuple[Tensor, Tensor, Tensor]]
_shared: ContextVar[_Shared | None] = ContextVar("shared_variances", default=None)


@contextlib.contextmanager
def shared_variances() -> Iterator[None]:
    """Compute each variance once in this block, for the layers and for the KL alike.

    For one training step, whose update of the rhos must be the last that happens in the block. The
    same idea as torch.nn.utils.parametrize.cached.
    """
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


class GaussianParameter(nn.Module):
    """Parameters with posteriors N(mean, softplus(rho)) and priors N(prior_mean, prior_var).

    The prior is state: PPBI replaces it after every task, so it is saved with the network.
    """

    prior_mean: Tensor
    prior_var: Tensor

    def __init__(self, mean: Tensor, rho: float) -> None:
        super().__init__()
        self.mean = nn.Parameter(mean)
        self.rho = nn.Parameter(torch.full_like(mean, rho))
        self.register_buffer("prior_mean", torch.zeros_like(mean))
        self.register_buffer("prior_var", torch.ones_like(mean))

    @property
    def var(self) -> Tensor:
        """Posterior variance."""
        if _shared.get() is None:
            return gaussian.variance(self.rho)
        return gaussian.known_variance(self.rho, *self._var_and_slope())

    def _var_and_slope(self) -> tuple[Tensor, Tensor]:
        shared = _shared.get()
        if shared is None:
            return gaussian.variance_and_slope(self.rho)
        if id(self.rho) not in shared:
            shared[id(self.rho)] = (self.rho, *gaussian.variance_and_slope(self.rho))
        _, var, slope = shared[id(self.rho)]
        return var, slope

    @property
    def log_var(self) -> Tensor:
        """Logarithm of the posterior variance, finite even where the variance underflows."""
        return gaussian.log_variance(self.rho)

    @property
    def snr(self) -> Tensor:
        """|mean| / var."""
        return gaussian.snr(self.mean, self.var)

    def kl(self) -> Tensor:
        """KL of each posterior against its prior."""
        return gaussian.kl(self.mean, self.var, self.prior_mean, self.prior_var)

    def total_kl(self, tau: float | Tensor = 1.0) -> Tensor:
        """Sum of tau * KL; `tau` is a scalar or one weight per parameter."""
        return gaussian.total_kl(self.mean, self.var, self.prior_mean, self.prior_var, tau)

    def known(self) -> gaussian.Known:
        """All that is known of it here and now."""
        prior = (self.prior_mean, self.prior_var)
        return gaussian.Known(self.mean, self.rho, *self._var_and_slope(), *prior)

    @torch.no_grad()
    def set_prior_to_posterior(self) -> None:
        """prior := posterior, bit for bit."""
        self.prior_mean.copy_(self.mean)
        self.prior_var.copy_(self.var)

    def extra_repr(self) -> str:
        """The shape, as torch.nn shows sizes."""
        return f"{tuple(self.mean.shape)}"


def gaussian_parameters(module: nn.Module) -> list[GaussianParameter]:
    """All Gaussian parameters below `module`, in the order of registration."""
    return [m for m in module.modules() if isinstance(m, GaussianParameter)]


def total_kl(members: Sequence[GaussianParameter], tau: float | Tensor = 1.0) -> Tensor:
    """Sum of tau * KL over all parameters of `members`.

    Args:
        members: usually `gaussian_parameters(network)`.
        tau: one weight for all, or a flat vector with one weight per parameter, in order.
    """
    start = members[0].mean.new_zeros(()) if members else torch.zeros(())
    weights: Any = _weights(members, tau)
    each = repeat(weights, len(members)) if isinstance(weights, float) else weights
    pairs = zip(members, each, strict=True)
    return sum((member.total_kl(weight) for member, weight in pairs), start=start)


def add_kl_gradient(
    members: Sequence[GaussianParameter], tau: float | Tensor = 1.0, of_rho: bool = True
) -> None:
    """Add the gradient of `total_kl(members, tau)` to the parameters': call it after backward.

    Args:
        members: usually `gaussian_parameters(network)`.
        tau: as for `total_kl`.
        of_rho: False where `natural_step` moves the variances, which needs the likelihood's alone.
    """
    weights = _weights(members, tau)
    gaussian.add_kl_gradient([member.known() for member in members], weights, of_rho)


def natural_step(members: Sequence[GaussianParameter], tau: float | Tensor, rate: float) -> None:
    """Move the variances by `gaussian.natural_step`: call it after backward, instead of Adam."""
    gaussian.natural_step([member.known() for member in members], _weights(members, tau), rate)


def _weights(members: Sequence[GaussianParameter], tau: float | Tensor) -> float | list[Tensor]:
    """One weight for all, or a tensor for each member."""
    if not isinstance(tau, Tensor):
        return float(tau)
    if tau.ndim == 0:
        return [tau] * len(members)
    n_parameters = sum(m.mean.numel() for m in members)
    if tau.shape != (n_parameters,):
        raise InputError(
            f"total_kl: tau must be a number or have shape ({n_parameters},), "
            f"but got {tuple(tau.shape)}."
        )
    return by_member(tau, members)


def by_member(flat: Tensor, members: Sequence[GaussianParameter]) -> list[Tensor]:
    """A flat vector over all parameters of `members` as views of each member's shape."""
    parts = flat.split([m.mean.numel() for m in members])
    return [part.view_as(m.mean) for m, part in zip(members, parts, strict=True)]
