"""PPBI, per-parameter Bayesian inference: the more certain a parameter, the heavier its KL."""

from typing import Literal

import torch
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.importance import Accumulate, Guard, Map, Measure, Scale, kl_weights
from mpnet.methods._base import METHODS, NonNegative, Protection, Rate
from mpnet.methods._variational import VARIATIONAL, Share, Variance, VariationalMethod
from mpnet.networks import Network
from mpnet.selectivity import Words

_WORDS = Words(
    "PPBI",
    if_alike="every weight is held by {held} of tau_max: "
    "one KL weight for all, the prior alone is selective",
    if_frozen="nearly frozen, as far as tau_max can hold them",
)


@METHODS.register("ppbi")
class PerParameterBayesianInference(VariationalMethod):
    """After each task, prior := posterior, and every trunk parameter gets a KL weight of its own.

    New heads start from N(0, 1) and tau_0.

    Args:
        network: a moment network.
        tau_0: weight of the KL in the first task and of new heads.
        variance: "natural" or "adam", as for every variational method.
        variance_rate: part of the way that a natural step goes.
        rho_learning_rate: Adam's for rho; None for the one of the means.
        measure: see `importance.Map`.
        scale: see `importance.Map`.
        guard: see `importance.Map`.
        accumulate: see `importance.Map`.
        tau_max: weight of the most certain parameter; the paper searches 1e-7 to 1e-2.
        tau_min: weight of the most uncertain parameter; "tau_max" for one weight for all, which
            is variational continual learning (VCL) by moment propagation.
    """

    first_task = VARIATIONAL
    later_options = frozenset(Map._fields) | {"tau_max", "tau_min"}

    tau: Tensor
    uncertainty: Tensor

    def __init__(
        self,
        network: Network,
        *,
        tau_0: NonNegative = 1e-7,
        variance: Variance = "natural",
        variance_rate: Share = 0.1,
        rho_learning_rate: Rate | None = None,
        measure: Measure = "var",
        scale: Scale = "rank",
        guard: Guard = 0.05,
        accumulate: Accumulate = "last",
        tau_max: NonNegative = 2e-7,
        tau_min: NonNegative | Literal["tau_max"] = 1e-12,
    ) -> None:
        super().__init__(
            network,
            tau_0=tau_0,
            variance=variance,
            variance_rate=variance_rate,
            rho_learning_rate=rho_learning_rate,
        )
        self.map = Map(measure, scale, guard, accumulate)
        self.tau_min, self.tau_max = tau_max if tau_min == "tau_max" else tau_min, tau_max
        n_parameters = sum(member.mean.numel() for member in self.trunk())
        self.register_buffer("uncertainty", torch.ones(n_parameters))
        self.register_buffer("tau", torch.full((n_parameters,), tau_0))

    def trunk_tau(self, t: int) -> float | Tensor:
        """One weight per parameter, from the second task on.

        In the first all are tau_0: as one number, the arithmetic is that of all other methods.
        """
        return self.tau if t else self.tau_0

    def end_task(self, t: int, examples: Examples) -> None:
        """The posterior becomes the prior, and is held the tighter the more certain it is."""
        self.uncertainty.copy_(self.map(*self.trunk_posterior(), self.uncertainty))
        self.tau.copy_(kl_weights(self.uncertainty, self.tau_min, self.tau_max))
        for member in self.trunk():
            member.set_prior_to_posterior()

    def protection(self) -> Protection:
        """The protection by tau, the KL weight of each parameter."""
        _, var = self.trunk_posterior()
        return Protection("tau", self.tau, "highest", self.tau_max, _WORDS, var)
