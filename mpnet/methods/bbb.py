"""BBB, Bayes by backprop (Blundell 2015): drawn weights and a scale-mixture prior, no more."""

import math
from typing import Annotated, NamedTuple

import torch
from annotated_types import Gt, Lt
from torch import Tensor

from mpnet.layers.sampled import GaussianWeight, gaussian_weights
from mpnet.methods._base import METHODS, Method, NonNegative
from mpnet.networks import Network
from mpnet.optimiser import gradients_of

Share = Annotated[float, Gt(0), Lt(1)]


class ScaleMixture(NamedTuple):
    """The prior pi N(0, sigma_1^2) + (1 - pi) N(0, sigma_2^2)."""

    log_sigma_wide: float
    log_sigma_narrow: float
    wide_share: float

    def log_density(self, weights: Tensor) -> Tensor:
        """The log-density of every single weight."""
        wide = _log_normal(weights, self.log_sigma_wide) + math.log(self.wide_share)
        narrow = _log_normal(weights, self.log_sigma_narrow) + math.log1p(-self.wide_share)
        return torch.logaddexp(wide, narrow)

    def pull(self, weights: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Minus the slope of `log_density`: each weight times its expected precision."""
        wide, narrow = (math.exp(-2 * log_sigma) for log_sigma in self[:2])
        odds = math.log(self.wide_share) - math.log1p(-self.wide_share)
        odds += self.log_sigma_narrow - self.log_sigma_wide
        is_wide = torch._foreach_mul(weights, weights)
        torch._foreach_mul_(is_wide, 0.5 * (narrow - wide))
        torch._foreach_add_(is_wide, odds)
        torch._foreach_sigmoid_(is_wide)
        torch._foreach_mul_(is_wide, wide - narrow)
        torch._foreach_add_(is_wide, narrow)
        torch._foreach_mul_(is_wide, weights)
        return is_wide


def _log_normal(weights: Tensor, log_sigma: float) -> Tensor:
    scaled = weights.square() * (-0.5 * math.exp(-2 * log_sigma))
    return scaled - (log_sigma + 0.5 * math.log(2 * math.pi))


@METHODS.register("bbb")
class BayesByBackprop(Method):
    """Adds tau times log q(w) - log p(w), averaged over the weights that the step has drawn.

    For the trunk and the head in training, biases included. The likelihood is averaged over the
    batch, so that tau = 1 / (number of training images) gives the exact ELBO.

    Args:
        network: of layers "sampled".
        tau: weight of the KL.
        log_sigma_wide: log sigma_1 of the prior; the UCB paper searches 0, -1, -2.
        log_sigma_narrow: log sigma_2 of the prior; the UCB paper searches -6, -7, -8.
        wide_share: pi, the weight of sigma_1 in the prior; the UCB paper searches .25, .5, .75.
    """

    family = "sampled"
    first_task = "bbb"

    def __init__(
        self,
        network: Network,
        *,
        tau: NonNegative = 1e-5,
        log_sigma_wide: float = 0.0,
        log_sigma_narrow: float = -6.0,
        wide_share: Share = 0.25,
    ) -> None:
        super().__init__(network)
        self.tau = tau
        self.prior = ScaleMixture(log_sigma_wide, log_sigma_narrow, wide_share)

    def trunk(self) -> list[GaussianWeight]:
        """The weights that all tasks share, in the order of every flat vector."""
        return gaussian_weights(self.network.trunk)

    def trained_weights(self, t: int) -> list[GaussianWeight]:
        """The weights of the trunk and of the head in training."""
        return [*self.trunk(), *gaussian_weights(self.network.heads[t])]

    def penalty(self, t: int) -> Tensor:
        """The KL's Monte-Carlo estimate from the last draw; a function of means and sigmas."""
        members = self.trained_weights(t)
        start = members[0].mean.new_zeros(())
        return self.tau * sum((self._kl(member) for member in members), start=start)

    def _kl(self, member: GaussianWeight) -> Tensor:
        sigma, noise = member.sigma, member.noise
        log_q = -0.5 * noise.square() - sigma.log() - 0.5 * math.log(2 * math.pi)
        log_p = self.prior.log_density(torch.addcmul(member.mean, sigma, noise))
        return (log_q - log_p).sum() / len(noise)

    @torch.no_grad()
    def add_penalty_gradient(self, t: int) -> None:
        """Add the gradient in closed form; of log q, at fixed noise, only -log sigma has one."""
        members = self.trained_weights(t)
        means: list[Tensor] = [m.mean for m in members]
        rhos: list[Tensor] = [m.rho for m in members]
        sigmas, n_samples = [m.sigma for m in members], len(members[0].noise)
        on_mean, on_sigma = ([torch.zeros_like(sigma) for sigma in sigmas] for _ in range(2))
        for drawn in zip(*(m.noise for m in members), strict=True):  # one sample of all weights
            pull = self.prior.pull(torch._foreach_addcmul(means, sigmas, drawn))
            torch._foreach_add_(on_mean, pull)
            torch._foreach_addcmul_(on_sigma, pull, drawn)
        torch._foreach_div_(on_sigma, n_samples)
        torch._foreach_sub_(on_sigma, torch._foreach_reciprocal(sigmas))
        torch._foreach_mul_(on_sigma, torch._foreach_sigmoid(rhos))
        torch._foreach_add_(gradients_of(means), on_mean, alpha=self.tau / n_samples)
        torch._foreach_add_(gradients_of(rhos), on_sigma, alpha=self.tau)
