"""Gaussian weights, drawn anew at each forward pass: values are tensors (samples, batch, ...).

The input is one sample, which all draws of the first layer share. In training the noise comes from
torch's global generator, which checkpoints save; in evaluation from a seed that each weight keeps
for good, so that evaluating disturbs nothing and gives the same answer twice.
"""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple, Self

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from mpnet.layers import FAMILIES, LayerFamily, Posterior, Prediction, plain_posteriors


class Samples(NamedTuple):
    """How many weights are drawn; 0 in evaluation stands for the means themselves."""

    training: int
    evaluation: int


class GaussianWeight(nn.Module):
    """Weights N(mean, sigma^2) with sigma = softplus(rho), one for each or for each unit.

    `noise` is what the last forward pass in training drew, for a penalty on the drawn weights; it
    is redrawn at every step and therefore no state.

    Args:
        mean: initial means.
        sigma: initial standard deviations, of any shape that broadcasts to the means'.
        samples: how many to draw.
    """

    noise: Tensor
    evaluation_seed: Tensor

    def __init__(self, mean: Tensor, sigma: Tensor, samples: Samples) -> None:
        super().__init__()
        self.mean = nn.Parameter(mean)
        self.rho = nn.Parameter(sigma.expm1().log())
        self.samples = samples
        self.register_buffer("noise", torch.zeros(1).expand(1, *mean.shape), persistent=False)
        self.register_buffer("evaluation_seed", torch.randint(2**31, ()))

    @property
    def sigma(self) -> Tensor:
        """Standard deviations, in the shape of rho."""
        return F.softplus(self.rho)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Leave the seed on the CPU, whose number it is: a GPU would have to be waited for."""
        seed = self.evaluation_seed
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self.evaluation_seed = seed
        return self

    def forward(self) -> Tensor:
        """Draw (samples, *shape)."""
        if self.training:
            self.noise = self._noise(self.samples.training, None)
            return torch.addcmul(self.mean, self.sigma, self.noise)
        if self.samples.evaluation == 0:
            return self.mean.unsqueeze(0)
        device = "cpu" if self.mean.is_meta else self.mean.device  # `meta` has none, and no values
        generator = torch.Generator(device).manual_seed(int(self.evaluation_seed))
        noise = self._noise(self.samples.evaluation, generator)
        return torch.addcmul(self.mean, self.sigma, noise)

    def _noise(self, n_samples: int, generator: torch.Generator | None) -> Tensor:
        size, like = (n_samples, *self.mean.shape), self.mean
        return torch.randn(size, generator=generator, device=like.device, dtype=like.dtype)

    def extra_repr(self) -> str:
        """The shapes, as torch.nn shows sizes."""
        return f"{tuple(self.mean.shape)}, sigma={tuple(self.rho.shape)}"


class FixedWeight(nn.Module):
    """Deterministic weights that are used where Gaussian ones may be."""

    def __init__(self, mean: Tensor) -> None:
        super().__init__()
        self.mean = nn.Parameter(mean)

    def forward(self) -> Tensor:
        """One sample, (1, *shape)."""
        return self.mean.unsqueeze(0)


Weight = GaussianWeight | FixedWeight
Rule = Callable[[Tensor, Tensor, Tensor], Tensor]


class Affine(nn.Module):
    """A linear map or a convolution, one for each sample of its weights.

    Args:
        weight: Gaussian.
        bias: Gaussian or not.
        rule: `F.linear` or `F.conv2d`.
    """

    def __init__(self, weight: GaussianWeight, bias: Weight, rule: Rule) -> None:
        super().__init__()
        self.weight, self.bias, self.rule = weight, bias, rule

    def forward(self, x: Tensor) -> Tensor:
        """(samples or 1, batch, in, ...) to (samples, batch, out, ...)."""
        weights, biases = self.weight(), self.bias()
        n_samples = max(len(x), len(weights))
        same = (v.expand(n_samples, *v.shape[1:]) for v in (x, weights, biases))
        # Joined along the batch: unlike stack, cat keeps the memory format of images.
        joined = torch.cat([self.rule(*sample) for sample in zip(*same, strict=True)])
        return joined.unflatten(0, (n_samples, -1))


class Folded(nn.Module):
    """A layer of torch.nn that takes samples as more examples of the batch.

    A batch norm then has one mean and variance for all draws, as it has at evaluation.
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """(samples, batch, ...) to the same."""
        folded: Tensor = self.layer(x.flatten(0, 1))
        return folded.unflatten(0, x.shape[:2])


def gaussian_weights(module: nn.Module) -> list[GaussianWeight]:
    """All Gaussian weights below `module`, in the order of registration."""
    return [m for m in module.modules() if isinstance(m, GaussianWeight)]


class _Sampled(LayerFamily):
    """What both families share: all but the affine layers."""

    is_deterministic = False

    def batch_norm1d(self, num_features: int) -> nn.Module:
        """torch.nn.BatchNorm1d over all samples."""
        return Folded(nn.BatchNorm1d(num_features))

    def batch_norm2d(self, num_features: int) -> nn.Module:
        """torch.nn.BatchNorm2d over all samples."""
        return Folded(nn.BatchNorm2d(num_features))

    def relu(self) -> nn.Module:
        """torch.nn.ReLU."""
        return nn.ReLU()

    def max_pool2d(self, kernel_size: int) -> nn.Module:
        """torch.nn.MaxPool2d."""
        return Folded(nn.MaxPool2d(kernel_size))

    def dropout(self, p: float) -> nn.Module:
        """torch.nn.Dropout, a mask for each sample."""
        return nn.Dropout(p)

    def flatten(self) -> nn.Module:
        """torch.nn.Flatten."""
        return nn.Flatten(start_dim=2)

    def sequential(self, *layers: nn.Module) -> nn.Module:
        """torch.nn.Sequential."""
        return nn.Sequential(*layers)

    def input(self, x: Tensor, t: int) -> Tensor:
        """The batch as one sample; images in the memory format in which convolutions are fast."""
        images = x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x
        return images.unsqueeze(0)

    def rows(self, value: Tensor, start: int, end: int) -> Tensor:
        """A slice of every sample."""
        return value[:, start:end]

    def with_unit(self, value: Tensor, other: Tensor, unit: int) -> Tensor:
        """A copy of `value` with the unit from `other`; the third dimension holds units."""
        copy = value.clone()
        copy[:, :, unit] = other[:, :, unit]
        return copy

    def nll(self, output: Tensor, labels: Tensor) -> Tensor:
        """Cross-entropy, averaged over samples."""
        return F.cross_entropy(output.flatten(0, 1), labels.repeat(len(output)))

    def predict(self, output: Tensor) -> Prediction:
        """Mean of the softmax over samples and, if there are several, its variance."""
        p = output.softmax(-1)
        return Prediction(p.mean(0), p.var(0) if len(p) > 1 else None)

    def posteriors(self, network: nn.Module) -> list[Posterior]:
        """The posteriors of drawn and fixed weights, and of plain heads."""
        own = (
            Posterior(path, m.mean.detach(), *_rho_and_var(m))
            for path, m in network.named_modules()
            if isinstance(m, GaussianWeight | FixedWeight)
        )
        return [*own, *plain_posteriors(network)]


def _rho_and_var(weight: Weight) -> tuple[Tensor | None, Tensor | None]:
    if isinstance(weight, FixedWeight):
        return None, None
    return weight.rho.detach(), weight.sigma.detach().square().expand_as(weight.mean)


@FAMILIES.register("sampled")
class SampledLayers(_Sampled):
    """A sigma for every weight and bias, heads included.

    Args:
        samples: drawn at each training step.
        evaluation_samples: whose predictions are averaged; 0 to evaluate the means alone.
        rho: initial value behind every sigma. Means start as in torch.nn.
    """

    def __init__(
        self,
        *,
        samples: Annotated[int, Ge(1), Le(1000)] = 10,
        evaluation_samples: Annotated[int, Ge(0), Le(1000)] = 10,
        rho: Annotated[float, Ge(-80), Le(20)] = -3.0,
    ) -> None:
        self.samples = Samples(samples, evaluation_samples)
        self.rho = rho

    def linear(self, in_features: int, out_features: int) -> nn.Module:
        """Gaussian affine map."""
        return self._gaussian(nn.Linear(in_features, out_features), F.linear)

    def conv2d(self, in_channels: int, out_channels: int, kernel_size: int) -> nn.Module:
        """Gaussian convolution."""
        return self._gaussian(nn.Conv2d(in_channels, out_channels, kernel_size), F.conv2d)

    def _gaussian(self, start: nn.Linear | nn.Conv2d, rule: Rule) -> nn.Module:
        assert start.bias is not None
        return Affine(self._weight(start.weight), self._weight(start.bias), rule)

    def _weight(self, start: Tensor) -> GaussianWeight:
        sigma = F.softplus(torch.full_like(start, self.rho))
        return GaussianWeight(start.detach(), sigma.detach(), self.samples)


@FAMILIES.register("sampled_units")
class UnitSampledLayers(_Sampled):
    """A sigma for every unit or filter, for all its incoming weights; none for biases and heads.

    One draw for each training step, the means alone in evaluation.

    Args:
        ratio: share of sigma^2 in the initial variance of a weight, 2 / (incoming connections), or
            2 / (outgoing ones) for a convolution; the rest is the spread of the means.
    """

    def __init__(self, *, ratio: Annotated[float, Gt(0), Lt(1)] = 0.5) -> None:
        self.ratio = ratio

    def linear(self, in_features: int, out_features: int) -> nn.Module:
        """Affine map with one sigma per output."""
        return self._by_unit((out_features, in_features), 2 / in_features, F.linear)

    def conv2d(self, in_channels: int, out_channels: int, kernel_size: int) -> nn.Module:
        """Convolution with one sigma per filter."""
        shape = (out_channels, in_channels, kernel_size, kernel_size)
        return self._by_unit(shape, 2 / (out_channels * kernel_size**2), F.conv2d)

    def head(self, in_features: int, out_features: int) -> nn.Module:
        """torch.nn.Linear."""
        return nn.Linear(in_features, out_features)

    def _by_unit(self, shape: tuple[int, ...], variance: float, rule: Rule) -> nn.Module:
        limit = math.sqrt(3 * (1 - self.ratio) * variance)
        sigma = torch.full((shape[0], *[1] * (len(shape) - 1)), math.sqrt(self.ratio * variance))
        weight = GaussianWeight(torch.empty(shape).uniform_(-limit, limit), sigma, Samples(1, 0))
        return Affine(weight, FixedWeight(torch.zeros(shape[0])), rule)
