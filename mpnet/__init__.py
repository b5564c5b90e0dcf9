"""Moment-propagation networks and continual learning on them."""

from mpnet.benchmarks import BENCHMARKS
from mpnet.config import RunConfig
from mpnet.continual import run
from mpnet.methods import METHODS
from mpnet.networks import NETWORKS

__all__ = ["BENCHMARKS", "METHODS", "NETWORKS", "RunConfig", "run"]
