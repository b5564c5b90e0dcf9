"""Network architectures, each written once for every layer family."""

from collections.abc import Sequence
from typing import Any

from mpnet.layers import LayerFamily
from mpnet.networks._base import NETWORKS, Network, Trunk
from mpnet.registry import import_members

__all__ = ["NETWORKS", "Network", "Trunk", "build_network"]

import_members(__name__, __path__)


def build_network(
    name: str,
    layers: LayerFamily,
    input_shape: tuple[int, ...],
    n_classes: Sequence[int],
    **options: Any,
) -> Network:
    """The registered architecture for images (channels, height, width), one head per task."""
    trunk = NETWORKS[name](layers, input_shape, **options)
    return Network(layers, trunk, input_shape, n_classes)
