"""What the layers on images share: sizes, memory formats, the check of windows."""

import torch
from torch import Tensor, nn

from mpnet.errors import InputError
from mpnet.layers.moment.moments import Moments, check_moments, describe

Size = int | tuple[int, int]
Pair = tuple[int, int]


def memory_format(x: Tensor) -> torch.memory_format:
    """How the channels of (batch, channels, height, width) lie in memory."""
    is_channels_last = x.is_contiguous(memory_format=torch.channels_last)
    return torch.channels_last if is_channels_last else torch.contiguous_format


def empty_images(
    shape: tuple[int, ...] | torch.Size, like: Tensor, fmt: torch.memory_format
) -> Tensor:
    """Unwritten images of a shape and format, of the kind and on the device of `like`."""
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=fmt)


def check_images(
    layer: nn.Module,
    x: Tensor | Moments,
    *,
    channels: int | None = None,
    kernel_size: Pair = (1, 1),
    padding: Pair = (0, 0),
    dilation: Pair = (1, 1),
) -> Moments:
    """The input as moments, if it holds images that, once padded, the window fits on."""
    checked = check_moments(layer, x)
    shape = tuple(checked.mean.shape)
    if len(shape) != 4 or (channels is not None and shape[1] != channels):
        raise InputError(
            f"{describe(layer)}: the input must have shape "
            f"(batch, {channels or 'channels'}, height, width), but got {shape}."
        )
    for size, kernel, pad, step in zip(shape[2:], kernel_size, padding, dilation, strict=True):
        if size + 2 * pad < step * (kernel - 1) + 1:
            raise InputError(
                f"{describe(layer)}: the padded image must not be smaller than the window, "
                f"but got {shape}."
            )
    return checked
