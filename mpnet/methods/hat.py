"""HAT, hard attention to the task (Serra 2018): tasks share weights, but do not change used ones.

Behind every hidden layer each unit is multiplied by a gate a = sigmoid(s e), e an embedding of its
own per task; s rises from 1 / s_max to s_max within every epoch and is s_max at evaluation. The
loss gets strength * sum of a (1 - m) / sum of (1 - m), where the mask m is the largest gate of
earlier tasks. A weight takes 1 - min(m_out, m_in) of its step.

Choices: the *update* is masked, which holds under any optimiser; the authors mask the gradient,
which only plain SGD respects. They correct the gradient of an embedding by
s_max (cosh(s e) + 1) / (s (cosh(e) + 1)), which makes it s_max sigmoid'(e) times that of the gate;
it is computed as the latter, where nothing overflows. They train by plain SGD, where that
gradient, some hundred times that of a weight, moves an embedding as far; Adam divides it out, so
embeddings have a rate of their own. Running statistics of a batch norm, which
the authors do not use, are not masked; where all tasks share them, they drift.
"""

from collections.abc import Sequence
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Tensor, nn

from mpnet.benchmarks import Examples
from mpnet.layers.gated import Gate, GatedLayers
from mpnet.methods._base import METHODS, Method, NonNegative, Progress, Rate, Scales
from mpnet.networks import Network
from mpnet.optimiser import gradients_of

_LARGEST = 6.0  # of an embedding, as the authors have it


@METHODS.register("hat")
class HardAttention(Method):
    """Gates per task, and a mask over what earlier tasks use.

    Args:
        network: of gated layers.
        strength: c in the paper; the larger, the fewer units a task takes.
        s_max: steepest slope of the gates; the larger, the closer they come to 0 and 1.
        embedding_learning_rate: Adam's for the embeddings; at that of the weights they rest.
    """

    family = "gated"
    first_task = "hat"
    mask: Tensor

    def __init__(
        self,
        network: Network,
        *,
        strength: NonNegative = 0.75,
        s_max: Annotated[float, Ge(1)] = 400.0,
        embedding_learning_rate: Rate = 0.03,
    ) -> None:
        super().__init__(network)
        self.strength, self.s_max = strength, s_max
        self.embedding_learning_rate = embedding_learning_rate
        self.slope: float | Tensor = s_max
        self.sizes = [m.n_units for m in network.trunk.modules() if isinstance(m, Gate)]
        n_units = sum(self.sizes)
        self.embeddings = nn.ParameterList(torch.randn(n_units) for _ in network.heads)
        self.register_buffer("mask", torch.zeros(n_units))
        assert isinstance(network.layers, GatedLayers)
        network.layers.attention = self.attention

    def begin_batch(self, progress: Progress) -> None:
        """Make the gates steeper from batch to batch, anew in every epoch."""
        self.slope = 1 / self.s_max + (self.s_max - 1 / self.s_max) * progress.epoch

    def gates(self, t: int) -> Tensor:
        """The gates of all units, flat: sigmoid(s e), with the gradient of s_max sigmoid(e)."""
        embedding = self.embeddings[t]
        slope = self.slope if self.network.training else self.s_max
        corrected = self.s_max * embedding.sigmoid()
        return (slope * embedding).sigmoid().detach() + (corrected - corrected.detach())

    def attention(self, t: int) -> Sequence[Tensor]:
        """The gates of every layer."""
        return self.gates(t).split(self.sizes)

    def penalty(self, t: int) -> Tensor:
        """The share of the free units that the task takes; zero when none is left."""
        free = 1 - self.mask
        n_free = free.sum().clamp_min(torch.finfo(free.dtype).tiny)
        return self.strength * (self.gates(t) * free).sum() / n_free

    @torch.no_grad()
    def add_penalty_gradient(self, t: int) -> None:
        """Add the gradient in closed form; through a gate it is s_max sigmoid'(e)."""
        embedding, free = self.embeddings[t], 1 - self.mask
        n_free = free.sum().clamp_min(torch.finfo(free.dtype).tiny)
        pull = n_free.reciprocal_() * self.strength * free * self.s_max
        (gradient,) = gradients_of([embedding])
        gradient += torch.ops.aten.sigmoid_backward(pull, embedding.sigmoid())

    def update_scales(self, t: int, learning_rate: float) -> Scales:
        """Weights between used units rest; embeddings move by their own rate."""
        embedding = self.embeddings[t]
        factor = self.embedding_learning_rate / learning_rate
        scales = [(embedding, torch.full_like(embedding, factor))] if factor != 1 else []
        return scales if t == 0 else [*scales, *self._held_back()]

    def _held_back(self) -> Scales:
        """What is left of the step of each shared weight."""
        scales: list[tuple[nn.Parameter, Tensor]] = []
        masks = self.mask.split(self.sizes)
        before, waiting = None, list[nn.Parameter]()
        for module in self.network.shared_modules():
            waiting += module.parameters(recurse=False)
            if isinstance(module, Gate):
                behind = masks[module.place]
                scales += [(p, 1 - _held(p, before, behind)) for p in waiting]
                before, waiting = behind, []
        return scales

    @torch.no_grad()
    def after_step(self, t: int) -> None:
        """Embeddings stay where a gate can still be moved."""
        self.embeddings[t].clamp_(-_LARGEST, _LARGEST)

    @torch.no_grad()
    def end_task(self, t: int, examples: Examples) -> None:
        """What the task uses is taken."""
        self.mask.copy_(torch.maximum(self.mask, self.gates(t)))

    def trained_parameters(self, t: int) -> list[nn.Parameter]:
        """The task's embedding besides trunk and head."""
        return [*super().trained_parameters(t), self.embeddings[t]]


def _held(parameter: nn.Parameter, before: Tensor | None, behind: Tensor) -> Tensor:
    """min(m_out, m_in) for every weight of a layer.

    m_out alone for biases and for the first layer; one channel's m_in for all its pixels where
    images become vectors.
    """
    rest = [1] * (parameter.ndim - 2)
    of_outputs = behind.view(-1, *[1] * (parameter.ndim - 1)).expand_as(parameter)
    if before is None or parameter.ndim == 1:
        return of_outputs
    of_inputs = before.repeat_interleave(parameter.shape[1] // len(before))
    return torch.minimum(of_outputs, of_inputs.view(1, -1, *rest))
