"""Deterministic feature freezing: after the first task only the new heads are trained."""

from mpnet.methods._base import METHODS, PLAIN
from mpnet.methods._freezing import FrozenTrunk
from mpnet.methods._plain import PlainMethod


@METHODS.register("plain_ff")
class PlainFeatureFreezing(FrozenTrunk, PlainMethod):
    """The cross-entropy with a trunk that is frozen after task 1; dropout rests with it."""

    first_task = PLAIN
