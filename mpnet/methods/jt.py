"""MP-JT, joint training: each task together with all before it; the paper's upper bound."""

from collections.abc import Sequence

from mpnet.methods._base import METHODS
from mpnet.methods._variational import VARIATIONAL, VariationalMethod


@METHODS.register("jt")
class JointTraining(VariationalMethod):
    """Goes on from the last task's weights: "sequentially, but jointly with previous tasks"."""

    first_task = VARIATIONAL

    def training_tasks(self, t: int) -> Sequence[int]:
        """All tasks so far."""
        return range(t + 1)
