"""Deterministic fine-tuning: train each task by its cross-entropy and protect nothing."""

from mpnet.methods._base import METHODS, PLAIN, Method


@METHODS.register("plain_ft")
class PlainFineTuning(Method):
    """The cross-entropy alone; the lower bound of the methods on plain layers."""

    family = "plain"
    first_task = PLAIN
