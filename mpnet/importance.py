"""From posteriors to uncertainties in [0, 1], and from those to learning rates or KL weights.

Eqs. 7 and 8 of the paper are printed for an importance iota, but do what its text says only if
iota is the uncertainty: then the most certain parameter gets the lowest rate and the highest
weight. So an uncertainty is scaled to [0, 1] here, and importance is one minus it. All functions
take flat vectors over the whole trunk: one scale for all layers.
"""

from typing import Literal

import torch
from torch import Tensor

from mpnet import gaussian

Measure = Literal["var", "snr"]
Scale = Literal["auto", "linear", "log", "rank"]

# The readings that protect: linear in the variance holds 83 % of the important weights below a
# tenth of the highest rate; linear in the SNR holds none, so it is taken in decibels, as the
# paper plots it.
_AUTO: dict[Measure, Scale] = {"var": "linear", "snr": "log"}


def uncertainty(mean: Tensor, var: Tensor, measure: Measure, scale: Scale = "auto") -> Tensor:
    """How uncertain each parameter is among all: 0 for the most certain, 1 for the least.

    Args:
        mean: posterior means.
        var: posterior variances.
        measure: "var", or "snr" for |mean| / var, whose inverse is the uncertainty.
        scale: "linear", "log" or "rank" of the measure before it is mapped to [0, 1]; "auto" is
            linear for the variance and logarithmic for the SNR.
    """
    scale = _AUTO[measure] if scale == "auto" else scale
    if scale == "log":
        tiny = torch.finfo(mean.dtype).tiny  # a mean of exactly 0 has no logarithm
        signal = mean.abs().clamp_min(tiny).log() if measure == "snr" else torch.zeros_like(mean)
        return _to_unit(var.log() - signal)
    raw = var if measure == "var" else -gaussian.snr(mean, var)
    return _to_unit(_ranks(raw) if scale == "rank" else raw)


def _ranks(values: Tensor) -> Tensor:
    """0 for the smallest value; equal values share a rank."""
    _, inverse = torch.unique(values, return_inverse=True)
    return inverse.to(values.dtype)


def _to_unit(values: Tensor) -> Tensor:
    low, high = values.aminmax()
    if low == high:
        return torch.ones_like(
            values
        )  # nothing is more certain than anything else: protect nothing
    return (values - low) / (high - low)


def learning_rates(uncertainty: Tensor, alpha_min: float, alpha_max: float) -> Tensor:
    """alpha_min for the most certain parameter, alpha_max for the least (Eq. 7)."""
    return alpha_min + uncertainty * (alpha_max - alpha_min)


def kl_weights(uncertainty: Tensor, tau_min: float, tau_max: float) -> Tensor:
    """tau_max for the most certain parameter, tau_min for the least (Eq. 8)."""
    return torch.lerp(
        torch.full_like(uncertainty, tau_max), torch.full_like(uncertainty, tau_min), uncertainty
    )
