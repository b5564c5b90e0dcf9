"""The way from stored bytes to what a network sees, for whole batches and on their device."""

from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

_CROP_PADDING = 4
_CHUNK = 5000  # images at a time, so that statistics of a large set need little memory


@dataclass(frozen=True)
class Preparation:
    """Pad, repeat a grey channel, normalise, permute: each where the benchmark asks for it.

    Args:
        mean: of the base data set as it is shown, per channel, of pixels in 0 ... 1.
        std: of the base data set as it is shown, per channel, of pixels in 0 ... 1.
        size: width and height to pad to with black; None to leave images as they are.
        n_channels: 3 to show grey images as RGB; None to leave them.
        permutation: order of the pixels after everything else, per image and channel.
    """

    mean: Tensor
    std: Tensor
    size: int | None = None
    n_channels: int | None = None
    permutation: Tensor | None = None

    @staticmethod
    def of(
        images: npt.NDArray[Any] | Tensor, size: int | None = None, n_channels: int | None = None
    ) -> "Preparation":
        """A preparation with the statistics of all images of a set, padding included."""
        pool = torch.as_tensor(images)
        counts = _histograms(pool)  # (channels, 256): exact sums in one pass over the bytes
        values = torch.arange(256, dtype=torch.float64) / 255
        total, squares = counts @ values, counts @ values.square()
        n_pixels = len(pool) * (pool.shape[2] * pool.shape[3] if size is None else size * size)
        mean = total / n_pixels
        std = (squares / n_pixels - mean.square()).sqrt()
        shape = (1, -1, 1, 1)
        return Preparation(mean.float().view(shape), std.float().view(shape), size, n_channels)

    def permuted(self, permutation: Tensor) -> "Preparation":
        """The same, with the pixels in another order."""
        return replace(self, permutation=permutation)

    def __call__(self, images: Tensor) -> Tensor:
        if self.size is not None:
            images = _padded(images, self.size)
        x = (images.float() / 255 - self.mean) / self.std
        if self.n_channels is not None:
            x = x.expand(-1, self.n_channels, -1, -1)
        if self.permutation is not None:
            x = x.flatten(2)[..., self.permutation].view_as(x)
        return x

    def to(self, device: torch.device) -> "Preparation":
        """The same constants on another device."""
        permutation = None if self.permutation is None else self.permutation.to(device)
        return replace(
            self, mean=self.mean.to(device), std=self.std.to(device), permutation=permutation
        )


def _histograms(pool: Tensor) -> Tensor:
    """How often each byte occurs in each channel."""
    counts = torch.zeros(pool.shape[1], 256, dtype=torch.float64)
    for chunk in pool.split(_CHUNK):
        for channel, pixels in enumerate(chunk.unbind(1)):
            counts[channel] += torch.bincount(pixels.flatten(), minlength=256)
    return counts


def _padded(images: Tensor, size: int) -> Tensor:
    """Images in a black border, thicker below and on the right where it cannot be even."""
    height, width = size - images.shape[2], size - images.shape[3]
    return F.pad(images, (width // 2, width - width // 2, height // 2, height - height // 2))


def augmented(images: Tensor, generator: torch.Generator) -> Tensor:
    """Each image cropped at random from itself with four black pixels around; half are flipped.

    The draws come from a generator on the CPU, so that they are the same on every device.
    """
    n, _, height, width = images.shape
    tops, lefts = torch.randint(2 * _CROP_PADDING + 1, (2, n, 1), generator=generator)
    is_flipped = torch.rand((n, 1), generator=generator) < 0.5
    columns = torch.arange(width)
    columns = lefts + torch.where(is_flipped, width - 1 - columns, columns)
    rows = tops + torch.arange(height)
    device = images.device
    bordered = F.pad(images, (_CROP_PADDING,) * 4)
    cropped = bordered[
        torch.arange(n, device=device).view(n, 1, 1),
        :,
        rows.to(device).unsqueeze(2),
        columns.to(device).unsqueeze(1),
    ]  # (n, height, width, channels): the indexed dimensions come first
    return cropped.permute(0, 3, 1, 2)
