"""Uncertainties in [0, 1] from posteriors, and learning rates or KL weights from uncertainties.

Eqs. 7 and 8 of the paper are printed for an importance iota, but do what its text says only if
iota is the uncertainty: then the most certain parameter gets the lowest rate and the highest
weight. So an uncertainty is scaled to [0, 1] here, and importance is one minus it. All functions
take flat vectors over the whole trunk: one scale for all layers.
"""

from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, Lt
from torch import Tensor

from mpnet import gaussian

Measure = Literal["var", "snr", "uniform", "shuffled", "uniform_snr", "shuffled_snr"]
Scale = Literal["linear", "log", "rank"]
Guard = Annotated[float, Ge(0), Lt(0.5)]
Accumulate = Literal["last", "max", "product"]


class _Parts(NamedTuple):
    """What is measured, and what becomes of it before it is used."""

    base: Literal["var", "snr"]
    control: Literal["none", "uniform", "shuffled"] = "none"


_PARTS: dict[Measure, _Parts] = {
    "var": _Parts("var"),
    "snr": _Parts("snr"),
    "uniform": _Parts("var", "uniform"),
    "shuffled": _Parts("var", "shuffled"),
    "uniform_snr": _Parts("snr", "uniform"),
    "shuffled_snr": _Parts("snr", "shuffled"),
}


class Map(NamedTuple):
    """Gives every parameter an uncertainty in [0, 1], from its posterior after a task.

    Args:
        measure: "var", or "snr" for |mean| / var, whose inverse is the uncertainty. Controls:
            "uniform" gives every parameter the mean of what "var" gives, "shuffled" gives the same
            values to the wrong parameters; "uniform_snr" and "shuffled_snr" likewise.
        scale: "linear", "log" or "rank" of the measure before it is mapped to [0, 1].
        guard: share of the parameters at either end that do not count when the ends of the scale
            are set, so that a dozen outliers do not decide about all others.
        accumulate: over tasks, the "last" posterior's alone, or with those before it the "max" of
            the importances or the "product" of the uncertainties.
    """

    measure: Measure = "var"
    scale: Scale = "rank"
    guard: float = 0.0
    accumulate: Accumulate = "last"

    def __call__(self, mean: Tensor, var: Tensor, before: Tensor) -> Tensor:
        """The uncertainties after a task, given those after the one before it (1 at first)."""
        base, control = _PARTS[self.measure]
        now = uncertainty(mean, var, base, self.scale, self.guard)
        if control == "uniform":
            now = now.mean().expand_as(now)
        elif control == "shuffled":
            now = now[torch.randperm(len(now)).to(now.device)]
        if self.accumulate == "max":
            return torch.minimum(before, now)
        return before * now if self.accumulate == "product" else now


def uncertainty(
    mean: Tensor,
    var: Tensor,
    measure: Literal["var", "snr"],
    scale: Scale,
    guard: float = 0.0,
) -> Tensor:
    """How uncertain each parameter is among all: 0 for the most certain, 1 for the least."""
    if scale == "log":
        tiny = torch.finfo(mean.dtype).tiny  # a mean of exactly 0 has no logarithm
        signal = mean.abs().clamp_min(tiny).log() if measure == "snr" else torch.zeros_like(mean)
        return _to_unit(var.log() - signal, guard)
    raw = var if measure == "var" else -gaussian.snr(mean, var)
    return _to_unit(_ranks(raw) if scale == "rank" else raw, guard)


def _ranks(values: Tensor) -> Tensor:
    """0 for the smallest value; equal values share a rank."""
    _, inverse = torch.unique(values, return_inverse=True)
    return inverse.to(values.dtype)


def _to_unit(values: Tensor, guard: float) -> Tensor:
    n_left_out = int(guard * len(values))
    low = values.kthvalue(1 + n_left_out).values
    high = values.kthvalue(len(values) - n_left_out).values
    if low == high:
        # nothing is more certain than anything else: protect nothing
        return torch.ones_like(values)
    return ((values - low) / (high - low)).clamp_(0, 1)


def learning_rates(uncertainty: Tensor, alpha_min: float, alpha_max: float) -> Tensor:
    """alpha_min for the most certain parameter, alpha_max for the least (Eq. 7)."""
    return alpha_min + uncertainty * (alpha_max - alpha_min)


def kl_weights(uncertainty: Tensor, tau_min: float, tau_max: float) -> Tensor:
    """tau_max for the most certain parameter, tau_min for the least (Eq. 8)."""
    return torch.lerp(
        torch.full_like(uncertainty, tau_max), torch.full_like(uncertainty, tau_min), uncertainty
    )
