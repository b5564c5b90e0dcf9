"""Moments of batch normalisation."""

import torch
from torch import Tensor, nn

from mpnet.errors import InputError
from mpnet.layers.moment.moments import Moments, check_moments, describe


class _BatchNorm(nn.Module):
    """Normalise both moments by the statistics of the batch's means (Eq. 4), then scale and shift.

    Scale and shift are ordinary parameters: the paper gives them no distribution. Running
    statistics are used at evaluation, as everywhere else in torch; arguments as in
    torch.nn.BatchNorm2d.
    """

    ndims: tuple[int, ...]
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = nn.Parameter(torch.ones(num_features)) if affine else None
        self.bias = nn.Parameter(torch.zeros(num_features)) if affine else None
        tracked = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features) if tracked else None)
        self.register_buffer("running_var", torch.ones(num_features) if tracked else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0) if tracked else None)

    def forward(self, x: Tensor | Moments) -> Moments:
        """(batch, num_features, ...) to the same shape."""
        mean, var = self._check(x)
        center, spread = self._statistics(mean)
        scale = torch.rsqrt(spread + self.eps)
        if self.weight is not None:
            scale = scale * self.weight
        shift = -center * scale if self.bias is None else self.bias - center * scale
        to_channels = (1, -1) + (1,) * (mean.ndim - 2)
        scale, shift = scale.view(to_channels), shift.view(to_channels)
        return Moments(mean * scale + shift, None if var is None else var * scale.square())

    def _statistics(self, mean: Tensor) -> tuple[Tensor, Tensor]:
        if not self.training and self.running_mean is not None and self.running_var is not None:
            return self.running_mean, self.running_var
        dims = [d for d in range(mean.ndim) if d != 1]
        spread, center = torch.var_mean(mean, dims, correction=0)
        if self.training:
            self._track(center.detach(), spread.detach(), mean.numel() // self.num_features)
        return center, spread

    def _track(self, center: Tensor, spread: Tensor, n: int) -> None:
        if (
            self.running_mean is None
            or self.running_var is None
            or self.num_batches_tracked is None
        ):
            return
        self.num_batches_tracked += 1
        rate = 1 / self.num_batches_tracked if self.momentum is None else self.momentum
        self.running_mean.lerp_(center, rate)
        self.running_var.lerp_(spread * n / (n - 1), rate)

    def _check(self, x: Tensor | Moments) -> Moments:
        checked = check_moments(self, x)
        shape = tuple(checked.mean.shape)
        if len(shape) not in self.ndims or shape[1] != self.num_features:
            raise InputError(
                f"{describe(self)}: the input must have {' or '.join(map(str, self.ndims))} "
                f"dimensions, the second of size {self.num_features}, but got {shape}."
            )
        if self.training and checked.mean.numel() <= self.num_features:
            raise InputError(
                f"{describe(self)}: in training there must be more than one value per feature, "
                f"but got {shape}."
            )
        return checked

    def extra_repr(self) -> str:
        """The settings, as torch.nn.BatchNorm2d shows them."""
        is_affine = self.weight is not None
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={is_affine}"


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (batch, features) or (batch, features, length)."""

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (batch, channels, height, width)."""

    ndims = (4,)
