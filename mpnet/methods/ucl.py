"""UCL, uncertainty-based continual learning (Ahn 2019): one sigma per unit, three regularisers."""

from collections.abc import Iterator
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Gt
from torch import Tensor

from mpnet.benchmarks import Examples
from mpnet.layers.sampled import Affine
from mpnet.methods._base import METHODS, Method, NonNegative, Scales
from mpnet.methods._quadratic import by_parameter
from mpnet.networks import Network
from mpnet.optimiser import gradients_of


class Remembered(NamedTuple):
    """A layer after the last task, or as initialised; sigmas as (out, 1, ...)."""

    mean: Tensor
    bias: Tensor
    sigma: Tensor
    initial_sigma: Tensor

    @property
    def strength(self) -> Tensor:
        """How firmly each unit is held, (out,): the initial sigma over what is left of it."""
        return (self.initial_sigma / self.sigma).flatten()

    @property
    def kinks(self) -> tuple[Tensor, Tensor]:
        """What |mean - mean^| of weights and biases is multiplied by from the second task on."""
        ratio = self.mean / self.sigma * self.initial_sigma
        return ratio.square(), (self.bias * self.strength).square()


class Springs(NamedTuple):
    """What holds weights and biases throughout a task, in their order."""

    anchors: list[Tensor]
    strengths: list[Tensor]
    kinks: list[Tensor]


@METHODS.register("ucl")
class UncertaintyRegularised(Method):
    """Holds the weights of certain units, and the means that are large against their sigma.

    With hats for what the last task left, strength * [
      a/2 sum (max(s_out, s_in) (mean - mean^))^2           s = sigma_init / sigma^, of two units
      + sigma_init^2 sum (mean^ / sigma^)^2 |mean - mean^|  from the second task on
      + beta/2 sum over units of (r - log r + sigma^2 - log sigma^2)    r = (sigma / sigma^)^2 ]
    with a = alpha in the first task, 1 afterwards; the first two lines for biases too, with s_out.
    The input's units have s = 0; a channel's is repeated over the positions that enter a linear
    layer. Heads, and scale and shift of a batch norm, are not held.

    Args:
        network: of layers "sampled_units", whose `ratio` is a hyper-parameter.
        beta: weight of the last line; published from 1e-5 (Omniglot) to .03 (permuted MNIST).
        alpha: how firmly the initial weights are held in the first task; published .01 to 5.
        rho_learning_rate: of the sigmas; the optimiser's is for everything else.
        strength: of all three regularisers. The paper divides them by the batch size, 256 in its
            experiments; a number of its own keeps the published beta at any batch size.
    """

    family = "sampled_units"
    first_task = "ucl"
    anchor: Tensor
    anchor_sigma: Tensor
    initial_sigma: Tensor

    def __init__(
        self,
        network: Network,
        *,
        beta: NonNegative = 0.03,
        alpha: NonNegative = 0.01,
        rho_learning_rate: Annotated[float, Gt(0)] = 1e-3,
        strength: NonNegative = 1 / 256,
    ) -> None:
        super().__init__(network)
        self.beta, self.alpha, self.strength = beta, alpha, strength
        self.rho_learning_rate = rho_learning_rate
        anchor, sigma = self._trunk_state()
        self.register_buffer("anchor", anchor)
        self.register_buffer("anchor_sigma", sigma)
        self.register_buffer("initial_sigma", sigma.clone())
        self._springs = Springs([], [], [])

    def trunk(self) -> list[Affine]:
        """The layers that all tasks share, from the input on."""
        return [m for m in self.network.trunk.modules() if isinstance(m, Affine)]

    @torch.no_grad()
    def begin_task(self, t: int) -> None:
        """Work out what holds the weights throughout the task."""
        self._springs = Springs([], [], [])
        for old, strengths in zip(self._remembered(), self.strengths(), strict=True):
            self._springs.anchors.extend((old.mean, old.bias))
            self._springs.strengths.extend((strengths.expand_as(old.mean), old.strength))
            self._springs.kinks.extend(old.kinks)

    def penalty(self, t: int) -> Tensor:
        """Sum over the trunk's layers."""
        total = self.anchor.new_zeros(())
        for layer, old, strengths in zip(
            self.trunk(), self._remembered(), self.strengths(), strict=True
        ):
            total = total + self._hold_means(t, layer, old, strengths)
            total = total + 0.5 * self.beta * _hold_sigmas(layer.weight.sigma, old.sigma)
        return self.strength * total

    def strengths(self) -> Iterator[Tensor]:
        """Strength of each weight, by layer: of the firmer unit it connects, (out, in, 1, ...)."""
        incoming = self.anchor.new_zeros(1)
        for old in self._remembered():
            n_positions = old.mean.shape[1] // len(incoming)
            kernel = [1] * (old.mean.ndim - 2)
            of_input = incoming.repeat_interleave(n_positions).view(1, -1, *kernel)
            yield torch.maximum(old.strength.view(-1, 1, *kernel), of_input)
            incoming = old.strength

    def _hold_means(self, t: int, layer: Affine, old: Remembered, strengths: Tensor) -> Tensor:
        shift, bias_shift = layer.weight.mean - old.mean, layer.bias.mean - old.bias
        squares = (strengths * shift).square().sum() + (old.strength * bias_shift).square().sum()
        if t == 0:
            return 0.5 * self.alpha * squares
        kink, bias_kink = old.kinks
        kinks = (kink * shift).abs().sum()
        return 0.5 * squares + kinks + (bias_kink * bias_shift).abs().sum()

    @torch.no_grad()
    def add_penalty_gradient(self, t: int) -> None:
        """Add the gradient in closed form, rounded as autograd would round it."""
        self._pull_means(t)
        self._pull_sigmas()

    def _pull_means(self, t: int) -> None:
        layers, (anchors, strengths, kinks) = self.trunk(), self._springs
        means: list[Tensor] = [p for m in layers for p in (m.weight.mean, m.bias.mean)]
        pull = torch._foreach_sub(means, anchors)
        steps = torch._foreach_mul(pull, kinks) if t else ()
        torch._foreach_mul_(pull, strengths)
        torch._foreach_mul_(pull, _product(self.strength, 1.0 if t else self.alpha))
        torch._foreach_mul_(pull, strengths)
        if t:
            torch._foreach_sign_(steps)
            torch._foreach_mul_(steps, self.strength)
            torch._foreach_addcmul_(pull, steps, kinks)
        torch._foreach_add_(gradients_of(means), pull)

    def _pull_sigmas(self) -> None:
        weights = [layer.weight for layer in self.trunk()]
        rhos: list[Tensor] = [weight.rho for weight in weights]
        sigma, old = torch.cat([w.sigma.flatten() for w in weights]), self.anchor_sigma
        relative = sigma / old
        factor = sigma.new_full((), _product(self.strength, self.beta))
        pull = (factor - factor / relative.square()) * relative / old
        pull += (factor - factor / sigma.square()) * sigma
        parts = zip(by_parameter(pull, rhos), rhos, strict=True)
        through = [torch.ops.aten.softplus_backward(part, rho, 1, 20) for part, rho in parts]
        torch._foreach_add_(gradients_of(rhos), through)

    def update_scales(self, t: int, learning_rate: float) -> Scales:
        """The sigmas' own rate."""
        scale, rhos = self.rho_learning_rate / learning_rate, (m.weight.rho for m in self.trunk())
        return [(rho, torch.full_like(rho, scale)) for rho in rhos]

    def end_task(self, t: int, examples: Examples) -> None:
        """Remember the trunk."""
        anchor, sigma = self._trunk_state()
        self.anchor.copy_(anchor)
        self.anchor_sigma.copy_(sigma)

    @torch.no_grad()
    def _trunk_state(self) -> tuple[Tensor, Tensor]:
        """Means and biases, and sigmas, as flat vectors."""
        pairs = [(layer.weight.mean, layer.bias.mean) for layer in self.trunk()]
        flat = torch.cat([part.flatten() for pair in pairs for part in pair])
        return flat, torch.cat([layer.weight.sigma.flatten() for layer in self.trunk()])

    def _remembered(self) -> Iterator[Remembered]:
        """The flat vectors by layer."""
        layers = self.trunk()
        units = [len(layer.weight.rho) for layer in layers]
        sizes = [n for layer in layers for n in (layer.weight.mean.numel(), len(layer.bias.mean))]
        parts, sigmas = iter(self.anchor.split(sizes)), self.anchor_sigma.split(units)
        for layer, sigma, first in zip(
            layers, sigmas, self.initial_sigma.split(units), strict=True
        ):
            rho, mean = layer.weight.rho, next(parts).view_as(layer.weight.mean)
            yield Remembered(mean, next(parts), sigma.view_as(rho), first.view_as(rho))


def _hold_sigmas(sigma: Tensor, old: Tensor) -> Tensor:
    var, ratio = sigma.square(), (sigma / old).square()
    return (ratio - ratio.log() + var - var.log()).sum()


def _product(*factors: float) -> float:
    """A product as tensors of single precision have it: rounded after every factor."""
    return float(np.multiply.reduce(np.array(factors, dtype=np.float32)))
