"""MP-FF, feature freezing: after the first task only the new heads are trained."""

from torch import Tensor, nn

from mpnet.layers.moment import total_kl
from mpnet.methods._base import METHODS
from mpnet.methods._variational import VariationalMethod


@METHODS.register("ff")
class FeatureFreezing(VariationalMethod):
    """The trunk, its batch-norm statistics included, stays as task 1 left it."""

    is_frozen = False

    def begin_task(self, t: int) -> None:
        """Freeze from the second task on."""
        self.is_frozen = t > 0
        self.network.trunk.requires_grad_(not self.is_frozen)

    def train(self, mode: bool = True) -> "FeatureFreezing":
        """A frozen trunk stays in evaluation mode: running statistics would drift otherwise."""
        super().train(mode)
        if self.is_frozen:
            self.network.trunk.eval()
        return self

    def penalty(self, t: int) -> Tensor:
        """The KL of what is trained."""
        return total_kl(self.heads(t), self.tau_0) if self.is_frozen else super().penalty(t)

    def trained_parameters(self, t: int) -> list[nn.Parameter]:
        """The new head alone once the trunk is frozen."""
        return [p for p in super().trained_parameters(t) if p.requires_grad]
