"""SI, synaptic intelligence (Zenke 2017): springs as stiff as a weight's share in what was learnt.

Along the path of a task omega_i grows by -g_i * delta theta_i, g the gradient of the likelihood
and delta theta the step taken. At its end Omega_i becomes
relu(Omega_i + omega_i / ((theta_i - start_i)^2 + damping)); the loss gets
strength * sum_i Omega_i (theta_i - anchor_i)^2, without a factor 1/2.

Choices: g leaves the penalty out, as the authors' code does and many others do not; heads are not
held; omega is state, so that it goes back to the best epoch together with the weights.
"""

from typing import Annotated

import torch
from annotated_types import Gt
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.methods._base import METHODS, NonNegative
from mpnet.methods._quadratic import QuadraticMethod, by_parameter
from mpnet.networks import Network
from mpnet.optimiser import gradients_of


@METHODS.register("si")
class SynapticIntelligence(QuadraticMethod):
    """Importance from the path of training; needs no look back at the data.

    Args:
        network: of plain layers.
        strength: c in the paper.
        damping: xi in the paper, which keeps weights that have hardly moved from counting most;
            1e-3 there for split tasks, 0.1 for permuted MNIST.
    """

    first_task = "si"  # with the path of training
    later_options = frozenset({"strength", "damping"})

    path: Tensor

    def __init__(
        self,
        network: Network,
        *,
        strength: NonNegative = 1.0,
        damping: Annotated[float, Gt(0)] = 1e-3,
    ) -> None:
        super().__init__(network, factor=strength)
        self.damping = damping
        self.register_buffer("path", torch.zeros_like(self.anchor))
        # Within one step only: gradients and places of the parameters.
        self._before: tuple[tuple[Tensor, ...], tuple[Tensor, ...]] = ((), ())

    @torch.no_grad()
    def after_backward(self, t: int) -> None:
        """Keep gradient and place: the penalty changes the one, the step the other."""
        trunk: list[Tensor] = [*self.trunk()]
        gradients = torch._foreach_clone(gradients_of(trunk))
        self._before = (gradients, torch._foreach_clone(trunk))

    @torch.no_grad()
    def after_step(self, t: int) -> None:
        """Add up what the steps have lowered the loss by, to first order, weight by weight."""
        trunk: list[Tensor] = [*self.trunk()]
        gradients, starts = self._before
        torch._foreach_sub_(starts, trunk)
        torch._foreach_addcmul_(by_parameter(self.path, trunk), gradients, starts)

    def end_task(self, t: int, examples: Examples) -> None:
        """Add the task's gain per distance; a weight that did harm is free rather than repelled.

        The anchor is still where the task has started.
        """
        here = self.trunk_vector().detach()
        gain = self.path / ((here - self.anchor).square() + self.damping)
        self.importance.add_(gain).relu_()
        self.anchor.copy_(here)
        self.path.zero_()
