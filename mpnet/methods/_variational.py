"""The kind of method that trains a moment network by its ELBO (Eq. 6)."""

from typing import Annotated, Literal

import torch
from annotated_types import Gt, Le
from torch import Tensor, nn

from mpnet.errors import ConfigError
from mpnet.layers.moment import (
    GaussianParameter,
    add_kl_gradient,
    gaussian_parameters,
    natural_step,
    total_kl,
)
from mpnet.methods._base import Method, NonNegative, Rate, Scales
from mpnet.networks import Network

VARIATIONAL = "variational"  # the kind of first task: tau_0 * KL, whatever protects it afterwards

Variance = Literal["adam", "natural"]
Share = Annotated[float, Gt(0), Le(1)]


class VariationalMethod(Method):
    """Adds tau * KL against the stored prior, for the trunk and the heads in training.

    Heads of finished tasks are left out: the paper's sum over all parameters would keep pulling
    them to the prior after their data are gone.

    Args:
        network: a moment network.
        tau_0: weight of the KL; 1 / (number of training images) gives the exact ELBO.
        variance: how variances learn: "natural" steps to where the ELBO is stationary, or "adam"
            on rho as the paper has it, which moves all of them by about the rate per step.
        variance_rate: part of the way that a natural step goes.
        rho_learning_rate: Adam's for rho; None for the one of the means.
    """

    def __init__(
        self,
        network: Network,
        *,
        tau_0: NonNegative = 1e-7,
        variance: Variance = "natural",
        variance_rate: Share = 0.1,
        rho_learning_rate: Rate | None = None,
    ) -> None:
        super().__init__(network)
        if variance == "natural" and tau_0 == 0:
            raise ConfigError(
                "method.tau_0: natural variances need a KL, so tau_0 > 0 must hold, but got 0; "
                "use variance: adam."
            )
        self.tau_0 = tau_0
        self.is_natural = variance == "natural"
        self.variance_rate, self.rho_learning_rate = variance_rate, rho_learning_rate

    def trunk(self) -> list[GaussianParameter]:
        """The Gaussian parameters that all tasks share, in the order of every flat vector."""
        return gaussian_parameters(self.network.trunk)

    def heads(self, t: int) -> list[GaussianParameter]:
        """The Gaussian parameters of the heads trained at task `t`."""
        parts = (self.network.heads[i] for i in self.training_tasks(t))
        return [g for part in parts for g in gaussian_parameters(part)]

    def trunk_tau(self, t: int) -> float | Tensor:
        """Weight of the trunk's KL at task `t`, one for all or a flat vector."""
        return self.tau_0

    def penalty(self, t: int) -> Tensor:
        """Sum of tau * KL."""
        of_trunk = total_kl(self.trunk(), self.trunk_tau(t))
        return of_trunk + total_kl(self.heads(t), self.tau_0)

    def add_penalty_gradient(self, t: int) -> None:
        """Add the KL's gradient in closed form; a natural step has that of rho in it."""
        add_kl_gradient(self.trunk(), self.trunk_tau(t), of_rho=not self.is_natural)
        add_kl_gradient(self.heads(t), self.tau_0, of_rho=not self.is_natural)

    def trained_parameters(self, t: int) -> list[nn.Parameter]:
        """What the optimiser may move: no rhos where they move by natural steps."""
        parameters = super().trained_parameters(t)
        if not self.is_natural:
            return parameters
        rhos = {id(member.rho) for member in [*self.trunk(), *self.heads(t)]}
        return [p for p in parameters if id(p) not in rhos]

    def move_otherwise(self, t: int) -> None:
        """Take natural steps of the variances, at the weight tau_0 of the KL for all of them.

        With a tau of its own a weight's precision would grow by 2 g / tau in every task, in a
        unit of its own: PPBI's freest weights, at 1e-12, end as the most certain ones and what
        was held before is let go (permuted MNIST, 10 small tasks: 90.1 % instead of 92.3 %).
        """
        if self.is_natural:
            natural_step([*self.trunk(), *self.heads(t)], self.tau_0, self.variance_rate)

    def update_scales(self, t: int, learning_rate: float) -> Scales:
        """Adam's own rate for rho."""
        factor = self.rho_factor(learning_rate)
        if factor == 1:
            return ()
        members = [*self.trunk(), *self.heads(t)]
        return [(m.rho, torch.full_like(m.rho, factor)) for m in members]

    def rho_factor(self, learning_rate: float) -> float:
        """How much more of Adam's step a rho takes than a mean."""
        if self.is_natural or self.rho_learning_rate is None:
            return 1.0
        return self.rho_learning_rate / learning_rate

    @torch.no_grad()
    def trunk_posterior(self) -> tuple[Tensor, Tensor]:
        """Means and variances of the trunk as flat vectors."""
        members = self.trunk()
        means = torch.cat([member.mean.flatten() for member in members])
        return means, torch.cat([member.var.flatten() for member in members])
