"""The small AlexNet for 32x32 images that HAT introduced and the paper's rivals use."""

from mpnet.errors import ConfigError
from mpnet.layers import LayerFamily
from mpnet.networks._base import NETWORKS, Trunk
from mpnet.networks._norm import BatchNorm, normalised

_DROPOUT = (0.2, 0.2, 0.5, 0.5, 0.5)  # HAT's rates, one per layer
_FILTERS = (64, 128, 256)
_HIDDEN = 2048


@NETWORKS.register("alexnet")
def alexnet(
    layers: LayerFamily,
    input_shape: tuple[int, ...],
    *,
    batch_norm: BatchNorm = False,
    dropout: bool = False,
) -> Trunk:
    """Three convolutions with 2x2 max-pooling, then two hidden layers of 2048 units.

    Each convolution is followed by (batch norm,) ReLU, (dropout,) pooling, (gate). For 32x32
    images the kernels are 4, 3 and 2 wide and 1024 features reach the first hidden layer.

    Args:
        layers: the family to build from.
        input_shape: (channels, height, width) of square images.
        batch_norm: normalise after every convolution and hidden layer; true for one norm that
            every task changes, "frozen" for one that rests after the first task, "per_task" for
            one per task.
        dropout: drop units at HAT's rates.
    """
    channels, size = _check_shape(input_shape)
    modules = []
    rates = iter(_DROPOUT if dropout else (0.0,) * len(_DROPOUT))
    for n_out, kernel in zip(_FILTERS, (size // 8, size // 10, 2), strict=True):
        modules.append(layers.conv2d(channels, n_out, kernel))
        modules += normalised(batch_norm, layers.batch_norm2d(n_out))
        modules.append(layers.relu())
        if rate := next(rates):
            modules.append(layers.dropout(rate))
        modules.append(layers.max_pool2d(2))
        modules += layers.gate(n_out)
        channels, size = n_out, (size - kernel + 1) // 2
    modules.append(layers.flatten())
    n_in = channels * size * size
    for rate in rates:
        modules.append(layers.linear(n_in, _HIDDEN))
        modules += normalised(batch_norm, layers.batch_norm1d(_HIDDEN))
        modules.append(layers.relu())
        if rate:
            modules.append(layers.dropout(rate))
        modules += layers.gate(_HIDDEN)
        n_in = _HIDDEN
    return Trunk(layers.sequential(*modules), n_in)


def _check_shape(input_shape: tuple[int, ...]) -> tuple[int, int]:
    channels, height, width = input_shape if len(input_shape) == 3 else (0, 0, 0)
    if channels < 1 or height < 20 or height != width:
        raise ConfigError(
            "network alexnet: images must be (channels, size, size) and at least 20 pixels wide, "
            f"but got {input_shape}; for smaller ones use network mlp."
        )
    return channels, height
