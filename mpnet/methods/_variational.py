"""The kind of method that trains a moment network by its ELBO (Eq. 6)."""

import torch
from torch import Tensor

from mpnet.layers.moment import GaussianParameter, add_kl_gradient, gaussian_parameters, total_kl
from mpnet.methods._base import Method, NonNegative
from mpnet.networks import Network


class VariationalMethod(Method):
    """Adds tau * KL against the stored prior, for the trunk and the heads in training.

    Heads of finished tasks are left out: the paper's sum over all parameters would keep pulling
    them to the prior after their data are gone.

    Args:
        network: a moment network.
        tau_0: weight of the KL; 1 / (number of training images) gives the exact ELBO.
    """

    def __init__(self, network: Network, *, tau_0: NonNegative = 1e-5) -> None:
        super().__init__(network)
        self.tau_0 = tau_0

    def trunk(self) -> list[GaussianParameter]:
        """The Gaussian parameters that all tasks share, in the order of every flat vector."""
        return gaussian_parameters(self.network.trunk)

    def heads(self, t: int) -> list[GaussianParameter]:
        """Those of the heads trained at task `t`."""
        parts = (self.network.heads[i] for i in self.training_tasks(t))
        return [g for part in parts for g in gaussian_parameters(part)]

    def trunk_tau(self) -> float | Tensor:
        """Weight of the trunk's KL, one for all or a flat vector."""
        return self.tau_0

    def penalty(self, t: int) -> Tensor:
        """Sum of tau * KL."""
        of_trunk = total_kl(self.trunk(), self.trunk_tau())
        return of_trunk + total_kl(self.heads(t), self.tau_0)

    def add_penalty_gradient(self, t: int) -> None:
        """In closed form."""
        add_kl_gradient(self.trunk(), self.trunk_tau())
        add_kl_gradient(self.heads(t), self.tau_0)

    @torch.no_grad()
    def trunk_posterior(self) -> tuple[Tensor, Tensor]:
        """Means and variances of the trunk as flat vectors."""
        members = self.trunk()
        means = torch.cat([member.mean.flatten() for member in members])
        return means, torch.cat([member.var.flatten() for member in members])
