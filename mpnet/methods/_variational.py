"""The kind of method that trains a moment network by its ELBO (Eq. 6)."""

from torch import Tensor

from mpnet.layers.moment import GaussianParameter, add_kl_gradient, gaussian_parameters, total_kl
from mpnet.methods._base import Method
from mpnet.networks import Network


class VariationalMethod(Method):
    """Adds tau * KL against the stored prior, for the trunk and the heads in training.

    Heads of finished tasks are left out: the paper's sum over all parameters would keep pulling
    them to the prior after their data are gone.

    Args:
        network: a moment network.
        tau_0: weight of the KL; 1 / (number of training images) gives the exact ELBO.
    """

    def __init__(self, network: Network, *, tau_0: float = 1e-6) -> None:
        super().__init__(network)
        self.tau_0 = tau_0

    def _members(self, t: int) -> list[GaussianParameter]:
        heads = [self.network.heads[i] for i in self.training_tasks(t)]
        return [g for part in (self.network.trunk, *heads) for g in gaussian_parameters(part)]

    def penalty(self, t: int) -> Tensor:
        """Sum of tau * KL."""
        return total_kl(self._members(t), self.tau_0)

    def add_penalty_gradient(self, t: int) -> None:
        """In closed form."""
        add_kl_gradient(self._members(t), self.tau_0)
