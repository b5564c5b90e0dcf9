"""LRA, learning-rate adaptation: the more certain a parameter, the less of its step it takes."""

import torch
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.importance import Measure, Scale, learning_rates, uncertainty
from mpnet.layers.moment import by_member
from mpnet.methods._base import METHODS, NonNegative, Protection, Scales
from mpnet.methods._variational import VariationalMethod
from mpnet.networks import Network


@METHODS.register("lra")
class LearningRateAdaptation(VariationalMethod):
    """After each task, maps every trunk parameter's uncertainty to a learning rate of its own.

    Mean and rho share a rate. New heads, and scale and shift of a batch norm (which have no
    posterior), keep the optimiser's. The prior stays N(0, 1) throughout, as the paper has it.

    Args:
        network: a moment network.
        tau_0: weight of the KL.
        measure: of uncertainty, "var" or "snr".
        scale: "linear", "log" or "rank" of the measure; "auto" for the reading that protects.
        alpha_max: rate of the most uncertain parameter; the paper searches 1e-5 to 1e-3.
        alpha_min: rate of the most certain one.
    """

    alpha: Tensor

    def __init__(
        self,
        network: Network,
        *,
        tau_0: NonNegative = 1e-5,
        measure: Measure = "var",
        scale: Scale = "auto",
        alpha_max: NonNegative = 1e-3,
        alpha_min: NonNegative = 1e-12,
    ) -> None:
        super().__init__(network, tau_0=tau_0)
        self.measure, self.scale = measure, scale
        self.alpha_min, self.alpha_max = alpha_min, alpha_max
        n_parameters = sum(member.mean.numel() for member in self.trunk())
        self.register_buffer("alpha", torch.full((n_parameters,), torch.nan))

    def update_scales(self, t: int, learning_rate: float) -> Scales:
        """alpha over the optimiser's rate, from the second task on."""
        if t == 0:
            return ()
        members = self.trunk()
        scales = by_member(self.alpha / learning_rate, members)
        pairs = zip(members, scales, strict=True)
        return [(p, scale) for m, scale in pairs for p in (m.mean, m.rho)]

    def end_task(self, t: int, examples: Examples) -> None:
        """Remap all trunk parameters at once."""
        unsure = uncertainty(*self.trunk_posterior(), self.measure, self.scale)
        self.alpha.copy_(learning_rates(unsure, self.alpha_min, self.alpha_max))

    def protection(self) -> Protection:
        """alpha."""
        return Protection("alpha", self.alpha, "lowest")
