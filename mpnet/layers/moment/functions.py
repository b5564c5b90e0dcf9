"""What functions of torch do with `Moments`, so that a network's own `forward` may call them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mpnet.errors import InputError
from mpnet.layers.moment.activation import GELU, LeakyReLU, ReLU, Sigmoid, SiLU, Tanh
from mpnet.layers.moment.dropout import Dropout
from mpnet.layers.moment.moments import FUNCTIONS, Moments, as_moments
from mpnet.layers.moment.pool import AdaptiveAvgPool2d, AvgPool2d, MaxPool2d
from mpnet.layers.moment.softmax import Softmax

Rule = Callable[..., Moments]


def _rule_of(*functions: Callable[..., Any]) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        FUNCTIONS.update(dict.fromkeys(functions, rule))
        return rule

    return add


def _moved(function: Callable[..., Tensor]) -> Rule:
    """The rule of a function that moves elements without changing them."""

    def rule(input: Moments, *args: Any, **kwargs: Any) -> Moments:
        var = None if input.var is None else function(input.var, *args, **kwargs)
        return Moments(function(input.mean, *args, **kwargs), var)

    return rule


for _function in (torch.flatten, torch.reshape, torch.squeeze, torch.unsqueeze, torch.permute):
    _rule_of(_function)(_moved(_function))


@_rule_of(torch.cat, torch.concat, torch.concatenate)
def _cat(tensors: Sequence[Moments | Tensor], dim: int = 0) -> Moments:
    """Side by side; zeros where only some have a variance."""
    parts = [as_moments(part) for part in tensors]
    mean = torch.cat([part.mean for part in parts], dim)
    if all(part.var is None for part in parts):
        return Moments(mean)
    return Moments(mean, torch.cat([part.dense_var for part in parts], dim))


@_rule_of(torch.add, torch.Tensor.add, torch.Tensor.__add__)
def _add(input: Moments | Tensor, other: Moments | Tensor, *, alpha: float = 1) -> Moments:
    """The sum of two independent activations."""
    if alpha != 1:
        raise InputError(f"Moments: torch.add must have alpha=1, but got {alpha}.")
    return as_moments(input) + other


@_rule_of(torch.mean)
def _mean(input: Moments, dim: int | tuple[int, ...], keepdim: bool = False) -> Moments:
    """The mean of independent elements: variances add up, divided by the number squared."""
    mean = input.mean.mean(dim, keepdim)
    if input.var is None:
        return Moments(mean)
    n_elements = input.mean.numel() // max(mean.numel(), 1)
    return Moments(mean, input.var.mean(dim, keepdim) / n_elements)


@_rule_of(F.relu, torch.relu)
def _relu(input: Moments, inplace: bool = False) -> Moments:
    return ReLU()(input)


@_rule_of(F.leaky_relu)
def _leaky_relu(input: Moments, negative_slope: float = 0.01, inplace: bool = False) -> Moments:
    return LeakyReLU(negative_slope)(input)


@_rule_of(F.silu)
def _silu(input: Moments, inplace: bool = False) -> Moments:
    return SiLU()(input)


@_rule_of(F.gelu)
def _gelu(input: Moments, *, approximate: str = "none") -> Moments:
    if approximate != "none":
        raise InputError(f"Moments: gelu must have approximate='none', but got {approximate!r}.")
    return GELU()(input)


@_rule_of(torch.tanh, F.tanh)
def _tanh(input: Moments) -> Moments:
    return Tanh()(input)


@_rule_of(torch.sigmoid, F.sigmoid)
def _sigmoid(input: Moments) -> Moments:
    return Sigmoid()(input)


@_rule_of(F.softmax, torch.softmax)
def _softmax(input: Moments, dim: int, **_: Any) -> Moments:
    return Softmax(dim)(input)


@_rule_of(F.dropout)
def _dropout(
    input: Moments, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Moments:
    return Dropout(p).train(training)(input)


@_rule_of(F.adaptive_avg_pool2d)
def _adaptive_avg_pool2d(input: Moments, output_size: Any) -> Moments:
    return AdaptiveAvgPool2d(output_size)(input)


@_rule_of(F.avg_pool2d)
def _avg_pool2d(input: Moments, *args: Any, **kwargs: Any) -> Moments:
    return AvgPool2d(*args, **kwargs)(input)


@_rule_of(F.max_pool2d, torch.max_pool2d)
def _max_pool2d(
    input: Moments, *args: Any, return_indices: bool = False, **kwargs: Any
) -> Moments:
    if return_indices:
        raise InputError("Moments: max_pool2d must have return_indices=False, but got True.")
    return MaxPool2d(*args, **kwargs)(input)
