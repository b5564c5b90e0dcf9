"""Continual-learning methods."""

from mpnet.methods._base import METHODS, Method, Progress, Protection
from mpnet.registry import import_members

__all__ = ["METHODS", "Method", "Progress", "Protection"]

import_members(__name__, __path__)
