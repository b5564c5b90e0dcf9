"""Continual-learning methods."""

from mpnet.methods import ff, ft, jt, lra, ppbi
from mpnet.methods._base import METHODS, Method

__all__ = ["METHODS", "Method", "ff", "ft", "jt", "lra", "ppbi"]
