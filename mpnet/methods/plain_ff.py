"""Deterministic feature freezing: after the first task only the new heads are trained."""

from mpnet.methods._base import METHODS, PLAIN
from mpnet.methods._freezing import FrozenTrunk


@METHODS.register("plain_ff")
class PlainFeatureFreezing(FrozenTrunk):
    """The cross-entropy with a trunk that is frozen after task 1; dropout rests with it."""

    family = "plain"
    first_task = PLAIN
