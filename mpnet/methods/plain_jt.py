"""Deterministic joint training: each task together with all before it."""

from collections.abc import Sequence

from mpnet.methods._base import METHODS, PLAIN
from mpnet.methods._plain import PlainMethod


@METHODS.register("plain_jt")
class PlainJointTraining(PlainMethod):
    """The upper bound; goes on from the last task's weights, as MP-JT does, instead of anew."""

    first_task = PLAIN

    def training_tasks(self, t: int) -> Sequence[int]:
        """All tasks so far."""
        return range(t + 1)
