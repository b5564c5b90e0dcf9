"""Moments of a two-dimensional convolution."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.modules.utils import _pair

from mpnet.errors import ConfigError
from mpnet.layers.moment.affine import Affine
from mpnet.layers.moment.images import Size, check_images, empty_images, memory_format
from mpnet.layers.moment.moments import Moments


class _Geometry(NamedTuple):
    """How a kernel moves over an image, in the order in which F.conv2d takes it."""

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int

    def backward(
        self, grad: Tensor, x: Tensor, weight: Tensor, mask: list[bool]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients for input, weight and bias; `mask` says which are wanted."""
        n_out = [weight.shape[0]]
        at = (n_out, self.stride, self.padding, self.dilation, False, (0, 0), self.groups)
        return torch.ops.aten.convolution_backward(grad, x, weight, *at, mask)


class _ConvMoments(torch.autograd.Function):
    """The rule of the linear layer, with both products of the variance in one convolution.

    conv(m^2 + v, s) + conv(v, mu^2) = conv([m^2 + v, v], [s, mu^2]), stacked along the input
    channels: the output is written once. The stacks are not kept but made again for the backward
    pass.
    """

    @staticmethod
    def forward(ctx: Any, geometry: _Geometry, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        mean, var, weight_mean, weight_var, bias_mean, bias_var = tensors
        ctx.save_for_backward(mean, var, weight_mean, weight_var)
        ctx.geometry = geometry
        inputs, weights = _stacks(mean, var, weight_mean, weight_var, geometry.groups)
        return (
            F.conv2d(mean, weight_mean, bias_mean, *geometry),
            F.conv2d(inputs, weights, bias_var, *geometry),
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_mean: Tensor, grad_var: Tensor) -> tuple[Tensor | None, ...]:
        geometry: _Geometry = ctx.geometry
        mean, var, weight_mean, weight_var = ctx.saved_tensors
        mask = [any(ctx.needs_input_grad[a:b]) for a, b in ((1, 3), (3, 5), (5, 7))]
        in_mean, to_mean, to_bias_mean = geometry.backward(grad_mean, mean, weight_mean, mask)
        inputs, weights = _stacks(mean, var, weight_mean, weight_var, geometry.groups)
        to_inputs, to_weights, to_bias_var = geometry.backward(grad_var, inputs, weights, mask)
        in_var = to_var = None
        if mask[0]:
            to_second_moment, to_input_var = _halves(to_inputs, geometry.groups)
            _by_group(in_mean, geometry.groups).addcmul_(
                _by_group(mean, geometry.groups), to_second_moment, value=2
            )
            in_var = (to_input_var + to_second_moment).flatten(1, 2)
        if mask[1]:
            to_var, to_square = to_weights.chunk(2, 1)
            to_mean.addcmul_(weight_mean, to_square, value=2)
        return None, in_mean, in_var, to_mean, to_var, to_bias_mean, to_bias_var


def _stacks(
    mean: Tensor, var: Tensor, weight_mean: Tensor, weight_var: Tensor, groups: int
) -> tuple[Tensor, Tensor]:
    """[m^2 + v, v] along the channels of each group, and the weights [s, mu^2] that meet them."""
    n, channels, height, width = mean.shape
    inputs = empty_images((n, 2 * channels, height, width), mean, memory_format(mean))
    second_moment, copy_of_var = _halves(inputs, groups)
    mean, var = _by_group(mean, groups), _by_group(var, groups)
    torch.addcmul(var, mean, mean, out=second_moment)
    copy_of_var.copy_(var)
    return inputs, torch.cat([weight_var, weight_mean * weight_mean], 1)


def _by_group(x: Tensor, groups: int) -> Tensor:
    return x.unflatten(1, (groups, -1))


def _halves(stacked: Tensor, groups: int) -> tuple[Tensor, Tensor]:
    """Views of the halves of every group's channels, (batch, groups, channels, height, width)."""
    first, second = stacked.unflatten(1, (groups, 2, -1)).unbind(2)
    return first, second


class Conv2d(Affine):
    """Convolution with Gaussian weights and independent inputs (Eq. 2).

    Args:
        in_channels: channels of the input.
        out_channels: filters.
        kernel_size: height and width of a filter.
        stride: as in torch.nn.Conv2d.
        padding: a size, or "valid" or "same" (the latter for odd kernels and stride 1).
        dilation: as in torch.nn.Conv2d.
        groups: as in torch.nn.Conv2d.
        bias: whether to add a (Gaussian) bias.
        rho: initial value behind every variance; the paper searches -10 to -18.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        rho: float = -12.0,
    ) -> None:
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ConfigError(
                f"Conv2d: groups must divide in_channels and out_channels, "
                f"but got groups={groups}, in_channels={in_channels}, out_channels={out_channels}."
            )
        super().__init__((out_channels, in_channels // groups, *_pair(kernel_size)), bias, rho)
        self.kernel_size = _pair(kernel_size)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.geometry = _Geometry(_pair(stride), (0, 0), _pair(dilation), groups)
        self.geometry = self.geometry._replace(padding=self._resolved(padding))

    def _resolved(self, padding: Size | str) -> tuple[int, int]:
        if not isinstance(padding, str):
            return _pair(padding)
        reach = [
            d * (k - 1) for d, k in zip(self.geometry.dilation, self.kernel_size, strict=True)
        ]
        if padding == "valid":
            return 0, 0
        if padding != "same" or self.geometry.stride != (1, 1) or any(r % 2 for r in reach):
            raise ConfigError(
                "Conv2d: padding must be a size, 'valid', or 'same' with stride 1 and a kernel "
                f"that reaches equally far to both sides, but got padding={padding!r}, "
                f"kernel_size={self.kernel_size}, stride={self.geometry.stride}, "
                f"dilation={self.geometry.dilation}."
            )
        return reach[0] // 2, reach[1] // 2

    def forward(self, x: Tensor | Moments) -> Moments:
        """(batch, in_channels, height, width) to (batch, out_channels, height', width')."""
        _, padding, dilation, _ = self.geometry
        mean, var = check_images(
            self,
            x,
            channels=self.in_channels,
            kernel_size=self.kernel_size,
            padding=padding,
            dilation=dilation,
        )
        weights = self.weight_and_bias()
        if var is None:
            weight_mean, weight_var, bias_mean, bias_var = weights
            return Moments(
                F.conv2d(mean, weight_mean, bias_mean, *self.geometry),
                F.conv2d(mean * mean, weight_var, bias_var, *self.geometry),
            )
        return Moments(*_ConvMoments.apply(self.geometry, mean, var, *weights))

    def extra_repr(self) -> str:
        """Sizes, as torch.nn.Conv2d shows them."""
        stride, padding, dilation, groups = self.geometry
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={stride}, padding={padding}, dilation={dilation}, groups={groups}, "
            f"bias={self.bias is not None}"
        )
