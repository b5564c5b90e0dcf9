"""Freezing of the trunk after the first task, for networks of every family."""

from typing import Self

from mpnet.methods._base import Method


class FrozenTrunk(Method):
    """The trunk, batch norms of every kind included, stays as task 1 left it."""

    is_frozen = False

    def begin_task(self, t: int) -> None:
        """Freeze from the second task on."""
        self.is_frozen = t > 0
        self.network.trunk.requires_grad_(not self.is_frozen)

    def trunk_rests(self, t: int) -> bool:
        """From the second task on; dropout and batch norms rest with it."""
        return t > 0 and self.network.layers.is_deterministic

    def train(self, mode: bool = True) -> Self:
        """A frozen trunk stays in evaluation mode: running statistics would drift otherwise."""
        super().train(mode)
        if self.is_frozen:
            self.network.trunk.eval()
        return self
