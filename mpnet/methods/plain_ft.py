"""Deterministic fine-tuning: train each task by its cross-entropy and protect nothing."""

from mpnet.methods._base import METHODS, PLAIN
from mpnet.methods._plain import PlainMethod


@METHODS.register("plain_ft")
class PlainFineTuning(PlainMethod):
    """The cross-entropy alone; the lower bound of the methods on plain layers."""

    first_task = PLAIN
