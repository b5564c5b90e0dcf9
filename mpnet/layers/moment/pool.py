"""Moments of pooling."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.modules.utils import _pair

from mpnet.layers.moment.images import Pair, Size, check_images, empty_images, memory_format
from mpnet.layers.moment.moments import Moments


class _Window(NamedTuple):
    """How a pooling window moves over an image, in the order in which torch's kernels take it."""

    kernel_size: Pair
    stride: Pair
    padding: Pair
    dilation: Pair
    ceil_mode: bool


class _MaxPoolMoments(torch.autograd.Function):
    """Both moments at the arg-max of the mean; nothing is kept of the large unpooled input."""

    @staticmethod
    def forward(ctx: Any, mean: Tensor, var: Tensor, window: _Window) -> tuple[Tensor, Tensor]:
        out_mean, argmax = torch.ops.aten.max_pool2d_with_indices(mean, *window)
        ctx.save_for_backward(argmax)
        ctx.window, ctx.shape = window, mean.shape
        ctx.memory_format = memory_format(mean)
        return out_mean, _at(var, argmax, ctx.memory_format)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_var: Tensor) -> tuple[Tensor, Tensor, None]:
        (argmax,) = ctx.saved_tensors
        kernel = torch.ops.aten.max_pool2d_with_indices_backward
        # Of its input the kernel reads only shape and memory format: an unwritten tensor will do.
        unread = empty_images(ctx.shape, grad_mean, ctx.memory_format)
        in_mean = kernel(grad_mean, unread, *ctx.window, argmax)
        return in_mean, kernel(grad_var, in_mean, *ctx.window, argmax), None


def _at(x: Tensor, index: Tensor, fmt: torch.memory_format) -> Tensor:
    """x at flat spatial positions, (batch, channels, height', width'), in its memory format."""
    if fmt == torch.contiguous_format:
        return x.flatten(2).gather(2, index.flatten(2)).view_as(index)
    pixels_first = x.permute(0, 2, 3, 1).flatten(1, 2), index.permute(0, 2, 3, 1).flatten(1, 2)
    picked = pixels_first[0].gather(1, pixels_first[1])  # (batch, pixels', channels)
    return picked.unflatten(1, index.shape[2:]).permute(0, 3, 1, 2)


class MaxPool2d(nn.Module):
    """Largest mean in each window, with the variance found there.

    Arguments as in torch.nn.MaxPool2d.
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.window = _Window(
            _pair(kernel_size),
            _pair(kernel_size if stride is None else stride),
            _pair(padding),
            _pair(dilation),
            ceil_mode,
        )

    def forward(self, x: Tensor | Moments) -> Moments:
        """(batch, channels, height, width) to (batch, channels, height', width')."""
        kernel_size, _, padding, dilation, _ = self.window
        mean, var = check_images(
            self, x, kernel_size=kernel_size, padding=padding, dilation=dilation
        )
        if var is None:
            return Moments(F.max_pool2d(mean, *self.window))
        return Moments(*_MaxPoolMoments.apply(mean, var, self.window))

    def extra_repr(self) -> str:
        """The window, as torch.nn.MaxPool2d shows it."""
        return ", ".join(f"{name}={value}" for name, value in self.window._asdict().items())


class AvgPool2d(nn.Module):
    """Mean of each window: the variances of independent elements add up.

    Arguments as in torch.nn.AvgPool2d.
    """

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        stride = kernel_size if stride is None else stride
        self.placement = (_pair(kernel_size), _pair(stride), _pair(padding), ceil_mode)
        self.divisor = (count_include_pad, divisor_override)

    def forward(self, x: Tensor | Moments) -> Moments:
        """(batch, channels, height, width) to (batch, channels, height', width')."""
        kernel_size, _, padding, _ = self.placement
        mean, var = check_images(self, x, kernel_size=kernel_size, padding=padding)
        out_mean = F.avg_pool2d(mean, *self.placement, *self.divisor)
        if var is None:
            return Moments(out_mean)
        return Moments(
            out_mean, F.avg_pool2d(var, *self.placement, *self.divisor) / self._divisors(mean)
        )

    def _divisors(self, like: Tensor) -> Tensor:
        """What each window's sum is divided by: windows at a border may count fewer elements."""
        ones = like.new_ones(1, 1, *like.shape[2:])
        sums = F.avg_pool2d(ones, *self.placement, count_include_pad=True, divisor_override=1)
        return sums / F.avg_pool2d(ones, *self.placement, *self.divisor)

    def extra_repr(self) -> str:
        """The window, as torch.nn.AvgPool2d shows it."""
        kernel_size, stride, padding, _ = self.placement
        return f"kernel_size={kernel_size}, stride={stride}, padding={padding}"


class AdaptiveAvgPool2d(nn.Module):
    """Mean over as many windows as the output has elements.

    Arguments as in torch.nn.AdaptiveAvgPool2d.
    """

    def __init__(self, output_size: int | None | tuple[int | None, int | None]) -> None:
        super().__init__()
        self.output_size: tuple[int | None, int | None] = _pair(output_size)

    def forward(self, x: Tensor | Moments) -> Moments:
        """(batch, channels, height, width) to (batch, channels, *output_size)."""
        mean, var = check_images(self, x)
        out_mean = F.adaptive_avg_pool2d(mean, self.output_size)
        if var is None:
            return Moments(out_mean)
        rows, columns = (
            _window_lengths(n_in, n_out, mean)
            for n_in, n_out in zip(mean.shape[2:], out_mean.shape[2:], strict=True)
        )
        return Moments(
            out_mean, F.adaptive_avg_pool2d(var, self.output_size) / torch.outer(rows, columns)
        )

    def extra_repr(self) -> str:
        """The output's size, as torch.nn.AdaptiveAvgPool2d shows it."""
        return f"output_size={self.output_size}"


def _window_lengths(n_in: int, n_out: int, like: Tensor) -> Tensor:
    """How many of n_in elements each of n_out windows covers; windows may overlap."""
    lengths = [-(-(i + 1) * n_in // n_out) - i * n_in // n_out for i in range(n_out)]
    return like.new_tensor(lengths)


def pool_first(layers: Sequence[nn.Module]) -> list[nn.Module]:
    """The same layers with every max-pooling moved before the monotone activation that it follows.

    The arg-max of psi(m) is that of m where psi is monotone, so both orders give the same moments,
    but the activation then works on the pooled elements only: a quarter of them for 2x2 windows.
    """
    ordered = list(layers)
    for i in range(len(ordered) - 1):
        if getattr(ordered[i], "is_monotone", False) and isinstance(ordered[i + 1], MaxPool2d):
            ordered[i], ordered[i + 1] = ordered[i + 1], ordered[i]
    return ordered
