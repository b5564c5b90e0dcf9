"""EWC, elastic weight consolidation (Kirkpatrick 2017): springs as stiff as the Fisher says.

The loss gets strength / 2 * sum_k sum_i F_k,i (theta_i - theta_k,i)^2 over the finished tasks k,
with F = E_x E_y[(d log p(y | x) / d theta)^2], y drawn from the network's own answer.

Choices: the Fisher is taken example by example, since the square of a batch's mean gradient is not
it; in evaluation mode, with the task's own head, on training images; heads are not held. A sum of
parabolas is a parabola, so one anchor and one importance stand for any number of tasks.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le, Lt
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.methods._base import METHODS, PLAIN, NonNegative
from mpnet.methods._per_example import CHUNK, summed_over_examples
from mpnet.methods._quadratic import QuadraticMethod
from mpnet.networks import Network

Fisher = Literal["exact", "empirical", "sample"]


@METHODS.register("ewc")
class ElasticWeightConsolidation(QuadraticMethod):
    """One parabola per finished task, or one that moves on with the last.

    Args:
        network: of plain layers.
        strength: lambda in the paper, with its factor 1/2.
        fisher: over all labels weighted by their probability ("exact"), one label drawn per image
            ("sample"), or the true ones ("empirical"), which is not the Fisher, but common.
        mode: "separate", the paper's sum over tasks, or "online": the Fishers summed, around the
            last task's weights.
        decay: what "online" keeps of the old Fisher at each task; gamma in the literature.
        n_samples: how many training images to use; None for all.
    """

    first_task = PLAIN
    later_options = frozenset({"strength", "fisher", "mode", "decay", "n_samples"})

    offset: Tensor

    def __init__(
        self,
        network: Network,
        *,
        strength: NonNegative = 5000.0,
        fisher: Fisher = "exact",
        mode: Literal["separate", "online"] = "separate",
        decay: Annotated[float, Ge(0), Le(1)] = 1.0,
        n_samples: Annotated[int, Ge(1), Lt(2**31)] | None = None,
    ) -> None:
        super().__init__(network, factor=strength / 2)
        self.fisher, self.mode, self.decay, self.n_samples = fisher, mode, decay, n_samples
        self.register_buffer("offset", torch.zeros(()))

    def penalty(self, t: int) -> Tensor:
        """The lowest point of a sum of parabolas is not zero; only a reported loss shows it."""
        return super().penalty(t) + self.factor * self.offset

    def end_task(self, t: int, examples: Examples) -> None:
        """Add the task's parabola to those before, or move on to it."""
        new = fisher_information(self.network, t, examples.thinned(self.n_samples), self.fisher)
        here = self.trunk_vector().detach()
        if self.mode == "online":
            self.importance.mul_(self.decay).add_(new)
            self.anchor.copy_(here)
        else:
            self._add_parabola(new, here)

    def _add_parabola(self, new: Tensor, here: Tensor) -> None:
        """a (x - u)^2 + b (x - v)^2 = (a + b) (x - w)^2 + a b / (a + b) (u - v)^2."""
        total = self.importance + new
        share = torch.where(total > 0, new / total, 1.0)  # weights that no task uses move freely
        self.offset += (self.importance * share * (here - self.anchor).square()).sum()
        self.anchor.lerp_(here, share)
        self.importance.copy_(total)


def fisher_information(network: Network, t: int, examples: Examples, fisher: Fisher) -> Tensor:
    """Diagonal of the Fisher information of task `t`, flat over the trunk."""
    total = torch.zeros((), device=examples.split.labels.device)
    for images, labels in examples.batches(CHUNK):
        with torch.no_grad():
            probabilities = network(images, t).softmax(1)
        for chosen, weights in _weighted_labels(probabilities, labels, fisher):
            objective = partial(_scaled_log_likelihood, labels=chosen, scale=weights.sqrt())
            total = total + summed_over_examples(network, images, t, objective, torch.square)
    return total / len(examples)


def _scaled_log_likelihood(logits: Tensor, labels: Tensor, scale: Tensor) -> Tensor:
    return scale * logits.log_softmax(1).gather(1, labels.unsqueeze(1)).squeeze(1)


def _weighted_labels(
    probabilities: Tensor, labels: Tensor, fisher: Fisher
) -> Iterator[tuple[Tensor, Tensor]]:
    """Labels for a batch and the weights with which their squared gradients are summed."""
    if fisher == "exact":
        for c in range(probabilities.shape[1]):
            yield torch.full_like(labels, c), probabilities[:, c]
        return
    if fisher == "sample":
        labels = probabilities.multinomial(1).squeeze(1)
    yield labels, torch.ones_like(probabilities[:, 0])
