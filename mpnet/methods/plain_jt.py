"""Deterministic joint training: each task together with all before it."""

from collections.abc import Sequence

from mpnet.methods._base import METHODS, PLAIN, Method


@METHODS.register("plain_jt")
class PlainJointTraining(Method):
    """The upper bound; goes on from the last task's weights, as MP-JT does, instead of anew."""

    family = "plain"
    first_task = PLAIN

    def training_tasks(self, t: int) -> Sequence[int]:
        """All tasks so far."""
        return range(t + 1)
