"""Orders of importance that a posterior gives to its parameters: the higher, the more needed."""

from collections.abc import Callable

import torch
from torch import Tensor

from mpnet import gaussian

Order = Callable[[Tensor, Tensor, torch.Generator], Tensor]  # of mean, variance and chance

WITH_VARIANCE: dict[str, Order] = {
    "snr": lambda mean, var, generator: gaussian.snr(mean, var),
    "variance": lambda mean, var, generator: -var,
}
WITHOUT_VARIANCE: dict[str, Order] = {
    "magnitude": lambda mean, var, generator: mean.abs(),
    "random": lambda mean, var, generator: torch.rand(mean.shape, generator=generator),
}
