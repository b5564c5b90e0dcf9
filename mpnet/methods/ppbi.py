"""PPBI, per-parameter Bayesian inference: the more certain a parameter, the heavier its KL."""

import torch
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.importance import Measure, Scale, kl_weights, uncertainty
from mpnet.methods._base import METHODS, NonNegative, Protection
from mpnet.methods._variational import VariationalMethod
from mpnet.networks import Network


@METHODS.register("ppbi")
class PerParameterBayesianInference(VariationalMethod):
    """After each task, prior := posterior, and every trunk parameter gets a KL weight of its own.

    New heads start from N(0, 1) and tau_0.

    Args:
        network: a moment network.
        tau_0: weight of the KL in the first task and of new heads.
        measure: of uncertainty, "var" or "snr".
        scale: "linear", "log" or "rank" of the measure; "auto" for the reading that protects.
        tau_max: weight of the most certain parameter; the paper searches 1e-7 to 1e-2.
        tau_min: weight of the most uncertain one.
    """

    tau: Tensor

    def __init__(
        self,
        network: Network,
        *,
        tau_0: NonNegative = 1e-5,
        measure: Measure = "var",
        scale: Scale = "auto",
        tau_max: NonNegative = 1e-4,
        tau_min: NonNegative = 1e-12,
    ) -> None:
        super().__init__(network, tau_0=tau_0)
        self.measure, self.scale = measure, scale
        self.tau_min, self.tau_max = tau_min, tau_max
        n_parameters = sum(member.mean.numel() for member in self.trunk())
        self.register_buffer("tau", torch.full((n_parameters,), tau_0))

    def trunk_tau(self) -> Tensor:
        """One weight per parameter."""
        return self.tau

    def end_task(self, t: int, examples: Examples) -> None:
        """The posterior becomes the prior, and is held the tighter the more certain it is."""
        unsure = uncertainty(*self.trunk_posterior(), self.measure, self.scale)
        self.tau.copy_(kl_weights(unsure, self.tau_min, self.tau_max))
        for member in self.trunk():
            member.set_prior_to_posterior()

    def protection(self) -> Protection:
        """tau."""
        return Protection("tau", self.tau, "highest")
