"""The kind of method that holds each weight of a plain trunk by a spring."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from mpnet.methods._base import Method
from mpnet.networks import Network
from mpnet.optimiser import gradients_of


class QuadraticMethod(Method):
    """Adds factor * sum of importance * (parameter - anchor)^2 over the trunk.

    Heads are left out: each belongs to one task and rests when that is done. Before the first task
    is finished, importance is 0 and the anchor is where training started.

    Args:
        network: of plain layers.
        factor: weight of the sum.
    """

    family = "plain"
    anchor: Tensor
    importance: Tensor

    def __init__(self, network: Network, *, factor: float) -> None:
        super().__init__(network)
        self.factor = factor
        self.register_buffer("anchor", self.trunk_vector().detach().clone())
        self.register_buffer("importance", torch.zeros_like(self.anchor))

    def trunk(self) -> list[nn.Parameter]:
        """The parameters that all tasks share, in the order of every flat vector."""
        return list(self.network.trunk_parameters())

    def trunk_vector(self) -> Tensor:
        """The parameters that all tasks share, in one flat vector."""
        return parameters_to_vector(self.trunk())

    def penalty(self, t: int) -> Tensor:
        """The energy in the springs."""
        return self.factor * (self.importance * (self.trunk_vector() - self.anchor).square()).sum()

    @torch.no_grad()
    def add_penalty_gradient(self, t: int) -> None:
        """Add the gradient of the springs in closed form."""
        trunk: list[Tensor] = [*self.trunk()]
        importance, anchor = (by_parameter(flat, trunk) for flat in (self.importance, self.anchor))
        shift = torch._foreach_sub(trunk, anchor)
        torch._foreach_addcmul_(gradients_of(trunk), importance, shift, value=2 * self.factor)


def by_parameter(flat: Tensor, parameters: Sequence[Tensor]) -> list[Tensor]:
    """A flat vector over all parameters as views of each one's shape."""
    parts = flat.split([p.numel() for p in parameters])
    return [part.view_as(p) for p, part in zip(parameters, parts, strict=True)]
