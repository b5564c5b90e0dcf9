"""Deterministic layers with gates, by which a task uses a part of the units only."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from mpnet.layers import FAMILIES, LayerFamily
from mpnet.layers.plain import PlainLayers


@FAMILIES.register("gated")
class GatedLayers(PlainLayers):
    """torch.nn as it is, and a gate behind every hidden layer.

    Values stay tensors. What the task of a batch lets through, known where the batch enters, is
    kept here for the gates. They let everything through until a method gives its `attention`:
    from the task to one factor per unit for each gate, in the order of their places.
    """

    def __init__(self) -> None:
        self.attention: Callable[[int], Sequence[Tensor]] | None = None
        self.factors: Sequence[Tensor] = ()  # of the batch that has entered last
        self._n_gates = 0

    def from_torch(self, network: nn.Module) -> nn.Module:
        """Nobody knows where its gates would have to be."""
        return LayerFamily.from_torch(self, network)

    def gate(self, n_units: int) -> list[nn.Module]:
        """The next gate."""
        self._n_gates += 1
        return [Gate(self, self._n_gates - 1, n_units)]

    def input(self, x: Tensor, t: int) -> Tensor:
        """The batch; what its task lets through is kept."""
        self.factors = () if self.attention is None else self.attention(t)
        return super().input(x, t)


class Gate(nn.Module):
    """Multiplies every unit or channel by the attention that the batch's task pays to it."""

    def __init__(self, layers: GatedLayers, place: int, n_units: int) -> None:
        super().__init__()
        self.layers, self.place, self.n_units = layers, place, n_units

    def forward(self, x: Tensor) -> Tensor:
        """(batch, units, ...) to the same shape."""
        if not self.layers.factors:
            return x
        return x * self.layers.factors[self.place].view(-1, *[1] * (x.ndim - 2))

    def extra_repr(self) -> str:
        """The size, as torch.nn shows sizes."""
        return f"{self.n_units}"
