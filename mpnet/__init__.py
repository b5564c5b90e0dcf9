"""Moment-propagation networks and continual learning on them.

PyTorch is imported when one of these names is first used, not with the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpnet.benchmarks import BENCHMARKS
    from mpnet.config import RunConfig
    from mpnet.continual import run
    from mpnet.methods import METHODS
    from mpnet.networks import NETWORKS

__all__ = ["BENCHMARKS", "METHODS", "NETWORKS", "RunConfig", "run"]

_HOMES = {
    "BENCHMARKS": "benchmarks",
    "METHODS": "methods",
    "NETWORKS": "networks",
    "RunConfig": "config",
    "run": "continual",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
