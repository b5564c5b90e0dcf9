"""Fully connected network."""

import math
from collections.abc import Sequence
from typing import Annotated

from annotated_types import Ge, Le, Lt

from mpnet.errors import ConfigError
from mpnet.layers import LayerFamily
from mpnet.networks._base import NETWORKS, Trunk
from mpnet.networks._norm import BatchNorm, normalised


@NETWORKS.register("mlp")
def mlp(
    layers: LayerFamily,
    input_shape: tuple[int, ...],
    *,
    hidden: Sequence[Annotated[int, Ge(1), Le(10**9)]] = (800, 800),
    batch_norm: BatchNorm = False,
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.0,
) -> Trunk:
    """Hidden layers of linear, (batch norm,) ReLU, (dropout,) (gate); the paper's: two of 800.

    Args:
        layers: the family to build from.
        input_shape: of an example, of any number of dimensions.
        hidden: sizes of the hidden layers.
        batch_norm: normalise every hidden layer; true for one norm that every task changes,
            "frozen" for one that rests after the first task, "per_task" for one per task.
        dropout: share of units to drop behind every hidden layer.
    """
    if not hidden or any(n < 1 for n in hidden):
        raise ConfigError(
            f"network.hidden: at least one size >= 1 must be given, but got {list(hidden)}."
        )
    if not input_shape or min(input_shape) < 1:
        raise ConfigError(f"network mlp: every size must be >= 1, but got {input_shape}.")
    modules = [layers.flatten()]
    n_in = math.prod(input_shape)
    for n_out in hidden:
        modules.append(layers.linear(n_in, n_out))
        modules += normalised(batch_norm, layers.batch_norm1d(n_out))
        modules.append(layers.relu())
        if dropout:
            modules.append(layers.dropout(dropout))
        modules += layers.gate(n_out)
        n_in = n_out
    return Trunk(layers.sequential(*modules), n_in)
