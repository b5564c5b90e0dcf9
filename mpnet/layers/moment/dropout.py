"""Moments under dropout."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mpnet.errors import ConfigError
from mpnet.layers.moment.moments import Moments, check_moments


class Dropout(nn.Module):
    """One mask for both moments in training; nothing at evaluation."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0 <= p < 1:
            raise ConfigError(f"Dropout: 0 <= p < 1 must hold, but got p={p}.")
        super().__init__()
        self.p = p

    def forward(self, x: Tensor | Moments) -> Moments:
        """Moments of any shape, element by element."""
        mean, var = check_moments(self, x)
        if not self.training or self.p == 0:
            return Moments(mean, var)
        keep = F.dropout(torch.ones_like(mean), self.p)  # 0 or 1 / (1 - p)
        return Moments(mean * keep, None if var is None else var * keep.square())

    def extra_repr(self) -> str:
        """The share, as torch.nn.Dropout shows it."""
        return f"p={self.p}"
