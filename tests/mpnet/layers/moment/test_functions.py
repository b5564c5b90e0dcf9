"""Functions of torch on moments: as their layers, as torch itself, or as Monte Carlo has it."""

import doctest
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torchvision
from torch import Tensor, nn

from mpnet.errors import InputError
from mpnet.layers import moment
from mpnet.layers.moment import Moments, convert, from_torch, moments
from tests.mpnet.layers.moment._oracles import VANISHING_RHO

IMAGES = (2, 3, 4, 6)
N_DRAWS = 60  # of all weights of a deep network: seconds each


def images() -> Moments:
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(IMAGES, generator=generator)
    return Moments(mean, torch.rand(IMAGES, generator=generator) + 0.1)


MOVING: dict[str, Callable[[Any], Any]] = {
    "flatten": lambda x: torch.flatten(x, 1),
    "method flatten": lambda x: x.flatten(1),
    "reshape": lambda x: torch.reshape(x, (2, -1)),
    "method view": lambda x: x.view(2, 3, 24),
    "view by size": lambda x: x.view(x.size(0), -1),
    "permute": lambda x: torch.permute(x, (0, 2, 3, 1)),
    "unsqueeze": lambda x: torch.unsqueeze(x, 0),
    "squeeze": lambda x: torch.squeeze(torch.unsqueeze(x, 0), 0),
}


@pytest.mark.parametrize("name", MOVING)
def test_what_only_moves_elements_moves_both_moments_alike(name: str) -> None:
    x, function = images(), MOVING[name]
    assert x.var is not None
    found = function(x)
    assert torch.equal(found.mean, function(x.mean))
    assert torch.equal(found.var, function(x.var))
    assert function(Moments(x.mean)).var is None


AS_LAYERS: dict[str, tuple[Callable[[Any], Any], nn.Module]] = {
    "relu": (F.relu, moment.ReLU()),
    "relu in place": (lambda x: F.relu(x, inplace=True), moment.ReLU()),
    "torch.relu": (torch.relu, moment.ReLU()),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), moment.LeakyReLU(0.2)),
    "silu": (F.silu, moment.SiLU()),
    "gelu": (F.gelu, moment.GELU()),
    "tanh": (torch.tanh, moment.Tanh()),
    "sigmoid": (torch.sigmoid, moment.Sigmoid()),
    "softmax": (lambda x: F.softmax(x, dim=1), moment.Softmax(1)),
    "dropout at evaluation": (lambda x: F.dropout(x, 0.5, training=False), nn.Identity()),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), moment.MaxPool2d(2)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, stride=1), moment.AvgPool2d(2, stride=1)),
    "adaptive_avg_pool2d": (
        lambda x: F.adaptive_avg_pool2d(x, (1, 1)),
        moment.AdaptiveAvgPool2d((1, 1)),
    ),
    "mean over pixels": (
        lambda x: torch.mean(x, (2, 3), keepdim=True),
        moment.AdaptiveAvgPool2d((1, 1)),
    ),
}


@pytest.mark.parametrize("name", AS_LAYERS)
def test_a_function_has_the_rule_of_its_layer(name: str) -> None:
    function, layer = AS_LAYERS[name]
    found, expected = function(images()), layer(images())
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.var, expected.var)


def test_what_stands_side_by_side_keeps_its_variance() -> None:
    x = images()
    found: Any = torch.cat([x, x.mean], 1)  # type: ignore[list-item]
    assert torch.equal(found.mean, torch.cat([x.mean, x.mean], 1))
    assert torch.equal(found.var, torch.cat([x.dense_var, torch.zeros(IMAGES)], 1))
    certain: Any = torch.cat([Moments(x.mean), Moments(x.mean)])  # type: ignore[list-item]
    assert certain.var is None


def test_torch_add_is_the_sum_of_independent_activations() -> None:
    x = images()
    found: Any = torch.add(x, x)  # type: ignore[call-overload]
    assert torch.equal(found.mean, x.mean + x.mean)
    assert torch.equal(found.var, x.dense_var + x.dense_var)
    with pytest.raises(InputError, match="alpha=1"):
        torch.add(x, x, alpha=2)  # type: ignore[call-overload]


def test_a_function_without_a_rule_is_named_with_those_that_have_one() -> None:
    with pytest.raises(InputError, match=r"cumsum has no moment rule; .*flatten"):
        torch.cumsum(images(), 0)  # type: ignore[call-overload]


@pytest.mark.parametrize("module", [moments, convert])
def test_the_examples_of_the_documentation_are_true(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("name", ["alexnet", "vgg11_bn", "resnet18", "densenet121"])
def test_networks_of_torchvision_have_a_moment_twin(name: str) -> None:
    torch.manual_seed(0)
    network = getattr(torchvision.models, name)(num_classes=3, weights=None).eval()
    x = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        expected, found = network(x), from_torch(network, rho=VANISHING_RHO)(x)
    torch.testing.assert_close(found.mean, expected)
    assert bool((found.var >= 0).all())


class Drawn(nn.Module):
    """A network whose weights are drawn anew for every call, as its moment twin says."""

    def __init__(self, network: nn.Module, twin: nn.Module) -> None:
        super().__init__()
        self.network, self.twin = network, twin

    def forward(self, x: Tensor) -> Tensor:
        drawn = {
            name: torch.normal(member.mean, member.var.sqrt())
            for name, member in self.twin.named_modules()
            if isinstance(member, moment.GaussianParameter)
        }
        output: Tensor = torch.func.functional_call(self.network, drawn, (x,))
        return output


@pytest.mark.slow
@pytest.mark.parametrize("name", ["resnet18", "vgg11_bn"])
def test_moments_of_deep_networks_are_those_of_drawn_weights(name: str) -> None:
    """With small variances, where the first-order rules hold: means as they are, variances to a
    factor, since elements of one image share the draws that the rules take as independent."""
    torch.manual_seed(0)
    network = getattr(torchvision.models, name)(num_classes=3, weights=None).eval()
    if name == "vgg11_bn":
        network.classifier = nn.Linear(512 * 7 * 7, 3)  # of its 130 million weights, 10
    twin = from_torch(network, rho=-16.0).eval()
    x = torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        drawn = Drawn(network, twin)
        outputs = torch.stack([drawn(x) for _ in range(N_DRAWS)])
        found = twin(x)
    var, mean = torch.var_mean(outputs, 0)
    assert bool(((found.mean - mean).abs() < 5 * (var / N_DRAWS).sqrt() + 1e-3).all())
    ratio = found.var / var
    assert bool(((ratio > 0.5) & (ratio < 2)).all()), ratio
