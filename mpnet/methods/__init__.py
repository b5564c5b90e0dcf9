"""Continual-learning methods."""

from mpnet.methods import ft
from mpnet.methods._base import METHODS, Method

__all__ = ["METHODS", "Method", "ft"]
