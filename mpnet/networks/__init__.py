"""Network architectures, each written once for every layer family."""

from collections.abc import Sequence
from typing import Any

from mpnet.layers import LayerFamily
from mpnet.networks._base import NETWORKS, Network, Trunk
from mpnet.networks._imported import import_faults, imported_trunk, is_import_path
from mpnet.registry import import_members

__all__ = ["NETWORKS", "Network", "Trunk", "build_network", "import_faults", "is_import_path"]

import_members(__name__, __path__)


def build_network(
    name: str,
    layers: LayerFamily,
    input_shape: tuple[int, ...],
    n_classes: Sequence[int],
    **options: Any,
) -> Network:
    """The architecture for images (channels, height, width), one head per task.

    Args:
        name: of a registered one, or an import path such as torchvision.models:resnet18.
        layers: the family to build from.
        input_shape: (channels, height, width).
        n_classes: of each task.
        options: of the architecture.
    """
    if is_import_path(name):
        trunk = imported_trunk(name, layers, input_shape, options)
    else:
        trunk = NETWORKS[name](layers, input_shape, **options)
    return Network(layers, trunk, input_shape, n_classes)
