"""Moments of the softmax.

The softmax is not element-wise, so its first-order covariance is J diag(v) J^T with J = diag(p) -
p p^T, and not the product of Eq. 5 with p (1 - p), which is 25 to 60 % low.
"""

import torch
from torch import Tensor, nn

from mpnet.layers.moment.moments import Moments, as_moments, check_moments


class Softmax(nn.Module):
    """Probabilities and the diagonal of their covariance, over the last dimension."""

    def forward(self, x: Tensor | Moments) -> Moments:
        """(..., classes) to the same shape."""
        mean, var = check_moments(self, as_moments(x))
        p = mean.softmax(-1)
        return Moments(p, None if var is None else softmax_variance(p, var))


def softmax_variance(p: Tensor, var: Tensor) -> Tensor:
    """Diagonal of J diag(v) J^T: p_i^2 ((1 - p_i)^2 v_i + sum over j != i of p_j^2 v_j)."""
    spread = p.square() * var
    of_others = (spread.sum(-1, keepdim=True) - spread).clamp_min(0)  # >= 0 but for rounding
    return p.square() * ((1 - p).square() * var + of_others)


def softmax_covariance(logits: Moments) -> Tensor:
    """The full matrix J diag(v) J^T, (..., classes, classes); its rows sum to zero."""
    p = logits.mean.softmax(-1)
    jacobian = torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)
    return (jacobian * logits.dense_var.unsqueeze(-2)) @ jacobian.mT
