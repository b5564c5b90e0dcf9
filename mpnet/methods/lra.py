"""LRA, learning-rate adaptation: the more certain a parameter, the less of its step it takes."""

import torch
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.importance import Accumulate, Guard, Map, Measure, Scale, learning_rates
from mpnet.layers.moment import by_member
from mpnet.methods._base import METHODS, NonNegative, Protection, Rate, Scales
from mpnet.methods._variational import VARIATIONAL, Share, Variance, VariationalMethod
from mpnet.networks import Network
from mpnet.selectivity import Words

_WORDS = Words(
    "LRA",
    if_alike="every weight keeps {free} of its rate: this is fine-tuning at a lower rate",
    if_frozen="nearly frozen",
)


@METHODS.register("lra")
class LearningRateAdaptation(VariationalMethod):
    """After each task, maps every trunk parameter's uncertainty to a learning rate of its own.

    Mean and rho share a rate. New heads, and scale and shift of a batch norm (which have no
    posterior), keep the optimiser's. The prior stays N(0, 1) throughout, as the paper has it.

    Args:
        network: a moment network.
        tau_0: weight of the KL.
        variance: "natural" or "adam", as for every variational method.
        variance_rate: part of the way that a natural step goes.
        rho_learning_rate: Adam's for rho in the first task; later ones keep its ratio.
        measure: see `importance.Map`.
        scale: see `importance.Map`.
        guard: see `importance.Map`.
        accumulate: see `importance.Map`.
        alpha_max: rate of the most uncertain parameter; the paper searches 1e-5 to 1e-3.
        alpha_min: rate of the most certain parameter.
    """

    first_task = VARIATIONAL
    later_options = frozenset(Map._fields) | {"alpha_max", "alpha_min"}

    alpha: Tensor
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
        accumulate: Accumulate = "max",
        alpha_max: NonNegative = 1e-3,
        alpha_min: NonNegative = 1e-12,
    ) -> None:
        super().__init__(
            network,
            tau_0=tau_0,
            variance=variance,
            variance_rate=variance_rate,
            rho_learning_rate=rho_learning_rate,
        )
        self.map = Map(measure, scale, guard, accumulate)
        self.alpha_min, self.alpha_max = alpha_min, alpha_max
        n_parameters = sum(member.mean.numel() for member in self.trunk())
        self.register_buffer("uncertainty", torch.ones(n_parameters))
        self.register_buffer("alpha", torch.full((n_parameters,), torch.nan))

    def update_scales(self, t: int, learning_rate: float) -> Scales:
        """alpha over the optimiser's rate, from the second task on."""
        scales = super().update_scales(t, learning_rate)
        if t == 0:
            return scales
        members, factor = self.trunk(), self.rho_factor(learning_rate)
        shares = by_member(self.alpha / learning_rate, members)
        of_means = [(m.mean, share) for m, share in zip(members, shares, strict=True)]
        of_rhos = [(m.rho, factor * share) for m, share in zip(members, shares, strict=True)]
        return [*of_means, *of_rhos, *scales[len(members) :]]

    def end_task(self, t: int, examples: Examples) -> None:
        """Remap all trunk parameters at once."""
        self.uncertainty.copy_(self.map(*self.trunk_posterior(), self.uncertainty))
        self.alpha.copy_(learning_rates(self.uncertainty, self.alpha_min, self.alpha_max))

    def protection(self) -> Protection:
        """The protection by alpha, the rate of each parameter."""
        _, var = self.trunk_posterior()
        return Protection("alpha", self.alpha, "lowest", self.alpha_max, _WORDS, var)
