"""MAS, memory-aware synapses (Aljundi 2018): springs as stiff as the output is sensitive.

Omega_i = mean over images of |d ||f(x)||^2 / d theta_i|, summed over tasks; the loss gets
strength * sum_i Omega_i (theta_i - anchor_i)^2, without a factor 1/2.

Choices: f are the logits of the task's own head, in evaluation mode, on training images; the
absolute value is taken image by image, as in the paper and unlike the authors' code, where signs
cancel within a batch; heads are not held.
"""

from typing import Annotated

import torch
from annotated_types import Ge, Lt
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.methods._base import METHODS, PLAIN, NonNegative
from mpnet.methods._per_example import CHUNK, summed_over_examples
from mpnet.methods._quadratic import QuadraticMethod
from mpnet.networks import Network


@METHODS.register("mas")
class MemoryAwareSynapses(QuadraticMethod):
    """Importance from what the network computes; needs no labels.

    Args:
        network: of plain layers.
        strength: lambda in the paper.
        n_samples: how many training images to use; None for all.
    """

    first_task = PLAIN
    later_options = frozenset({"strength", "n_samples"})

    def __init__(
        self,
        network: Network,
        *,
        strength: NonNegative = 1.0,
        n_samples: Annotated[int, Ge(1), Lt(2**31)] | None = None,
    ) -> None:
        super().__init__(network, factor=strength)
        self.n_samples = n_samples

    def end_task(self, t: int, examples: Examples) -> None:
        """Add the task's sensitivity to that of the tasks before."""
        self.importance.add_(sensitivity(self.network, t, examples.thinned(self.n_samples)))
        self.anchor.copy_(self.trunk_vector().detach())


def sensitivity(network: Network, t: int, examples: Examples) -> Tensor:
    """Mean absolute gradient of the squared length of the logits, flat over the trunk."""
    parts = (
        summed_over_examples(network, images, t, _squared_length, torch.abs)
        for images, _ in examples.batches(CHUNK)
    )
    start = torch.zeros((), device=examples.split.labels.device)
    return sum(parts, start=start) / len(examples)


def _squared_length(logits: Tensor) -> Tensor:
    return logits.square().sum(1)
