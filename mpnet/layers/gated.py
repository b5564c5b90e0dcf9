"""Deterministic layers with gates, by which a task uses a part of the units only."""

from collections.abc import Callable

from torch import Tensor, nn

from mpnet.layers import FAMILIES
from mpnet.layers.plain import PlainLayers


@FAMILIES.register("gated")
class GatedLayers(PlainLayers):
    """torch.nn as it is, and a gate behind every hidden layer.

    Values stay tensors. The task of a batch, known where it enters, is kept here for the gates.
    They let everything through until a method gives its `attention`: from the task and a gate's
    place in the network to one factor per unit.
    """

    def __init__(self) -> None:
        self.attention: Callable[[int, int], Tensor] | None = None
        self.task = 0
        self._n_gates = 0

    def gate(self, n_units: int) -> list[nn.Module]:
        """The next gate."""
        self._n_gates += 1
        return [Gate(self, self._n_gates - 1, n_units)]

    def input(self, x: Tensor, t: int) -> Tensor:
        """The batch; its task is kept."""
        self.task = t
        return super().input(x, t)


class Gate(nn.Module):
    """Multiplies every unit or channel by the attention that the batch's task pays to it."""

    def __init__(self, layers: GatedLayers, place: int, n_units: int) -> None:
        super().__init__()
        self.layers, self.place, self.n_units = layers, place, n_units

    def forward(self, x: Tensor) -> Tensor:
        """(batch, units, ...) to the same shape."""
        if self.layers.attention is None:
            return x
        factors = self.layers.attention(self.layers.task, self.place)
        return x * factors.view(-1, *[1] * (x.ndim - 2))

    def extra_repr(self) -> str:
        """The size, as torch.nn shows sizes."""
        return f"{self.n_units}"
