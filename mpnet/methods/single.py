"""Every task alone, on a network of its own: the reference for what earlier tasks give or cost."""

from mpnet.layers.moment import GaussianParameter, gaussian_parameters
from mpnet.methods._base import METHODS, NonNegative, Rate
from mpnet.methods._variational import Share, Variance, VariationalMethod
from mpnet.networks import Network


@METHODS.register("single")
class SingleTask(VariationalMethod):
    """The ELBO alone, with a trunk for every task that starts as new as that of the first.

    Nothing is forgotten and nothing is handed on, so that R[t, i] is that of task i alone. The
    network is as many times as large as there are tasks.

    Args:
        network: a moment network.
        tau_0: weight of the KL.
        variance: "natural" or "adam", as for every variational method.
        variance_rate: part of the way that a natural step goes.
        rho_learning_rate: Adam's for rho; None for the one of the means.
    """

    first_task = "single"  # of a network with a trunk for every task

    def __init__(
        self,
        network: Network,
        *,
        tau_0: NonNegative = 1e-7,
        variance: Variance = "natural",
        variance_rate: Share = 0.1,
        rho_learning_rate: Rate | None = None,
    ) -> None:
        super().__init__(
            network,
            tau_0=tau_0,
            variance=variance,
            variance_rate=variance_rate,
            rho_learning_rate=rho_learning_rate,
        )
        self.trunks = network.separate()

    def begin_task(self, t: int) -> None:
        """Turn to the trunk of the task."""
        self.trunks.turn_to(t, 0)

    def trunk(self) -> list[GaussianParameter]:
        """The Gaussian parameters of the trunk in use."""
        return gaussian_parameters(self.trunks.norms[self.trunks.place])
