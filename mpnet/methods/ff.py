"""MP-FF, feature freezing: after the first task only the new heads are trained."""

from torch import Tensor

from mpnet.layers.moment import total_kl
from mpnet.methods._base import METHODS
from mpnet.methods._freezing import FrozenTrunk
from mpnet.methods._variational import VARIATIONAL, VariationalMethod


@METHODS.register("ff")
class FeatureFreezing(FrozenTrunk, VariationalMethod):
    """The ELBO with a trunk that is frozen after task 1."""

    first_task = VARIATIONAL

    def penalty(self, t: int) -> Tensor:
        """The KL of what is trained."""
        return total_kl(self.heads(t), self.tau_0) if self.is_frozen else super().penalty(t)
