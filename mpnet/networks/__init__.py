"""Network architectures, each written once for every layer family."""

from collections.abc import Sequence
from typing import Any

from mpnet.layers import LayerFamily
from mpnet.networks import alexnet, mlp
from mpnet.networks._base import NETWORKS, Network, Trunk

__all__ = ["NETWORKS", "Network", "Trunk", "alexnet", "build_network", "mlp"]


def build_network(
    name: str,
    layers: LayerFamily,
    input_shape: tuple[int, ...],
    n_classes: Sequence[int],
    **options: Any,
) -> Network:
    """The registered architecture for images (channels, height, width), one head per task."""
    trunk: Trunk = NETWORKS[name](layers, input_shape, **options)  # type: ignore[assignment]
    return Network(layers, trunk, n_classes)
