"""A torch.nn network and its moment twin."""

import copy
from collections import OrderedDict

import pytest
import torch
from torch import Tensor, nn

from mpnet.errors import ConfigError
from mpnet.layers import moment
from mpnet.layers.moment import GaussianParameter, from_torch, gaussian_parameters
from tests.mpnet.layers.moment._oracles import VANISHING_RHO


class Block(nn.Module):
    """A residual block as users write it, with a `+` in its own forward."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.act = nn.ReLU()
        self.second = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        """The body after the shortcut."""
        return self.second(self.act(self.first(x))) + x


class MirroredBlock(Block):
    """The same with the shortcut first."""

    def forward(self, x: Tensor) -> Tensor:
        """The shortcut before the body."""
        return x + self.second(self.act(self.first(x)))


def mlp() -> nn.Module:
    """Vectors of 6 to 3 classes."""
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3, bias=False))


def mlp_with_one_activation_twice() -> nn.Module:
    """One module object in two places, as in `act = nn.ReLU()`."""
    act = nn.ReLU()
    return nn.Sequential(nn.Linear(6, 8), act, nn.Linear(8, 8), act, nn.Linear(8, 3))


def convnet() -> nn.Module:
    """Images of 2x8x8 to 3 classes, with batch norm whose statistics have seen something."""
    network = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding="same"),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, groups=2, bias=False),
        nn.LeakyReLU(0.3),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.BatchNorm1d(6),
        nn.Dropout(0.3),
        nn.Linear(6, 3),
    )
    for layer in (network[1], network[8]):
        nn.init.uniform_(layer.weight, 0.5, 1.5)
        nn.init.uniform_(layer.bias, -0.5, 0.5)
        layer.running_mean.normal_()
        layer.running_var.uniform_(0.5, 1.5)
    return network


VECTORS, PICTURES = (5, 6), (5, 2, 8, 8)

NETWORKS = [
    pytest.param(mlp, VECTORS, id="mlp"),
    pytest.param(mlp_with_one_activation_twice, VECTORS, id="mlp with one activation twice"),
    pytest.param(convnet, PICTURES, id="convnet"),
    pytest.param(lambda: nn.Sequential(nn.Linear(6, 6), Block()), VECTORS, id="residual"),
    pytest.param(lambda: nn.Sequential(nn.Linear(6, 6), MirroredBlock()), VECTORS, id="mirrored"),
    pytest.param(Block, VECTORS, id="residual around the input"),
    pytest.param(MirroredBlock, VECTORS, id="mirrored around the input"),
]
all_networks = pytest.mark.parametrize(("make", "shape"), NETWORKS)


# Equality


@all_networks
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_mean_at_zero_variance_is_the_originals(
    make: type, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    original = make().to(dtype).eval()
    x = torch.randn(shape, dtype=dtype)
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12}[dtype]
    out = from_torch(original, rho=VANISHING_RHO)(x)
    torch.testing.assert_close(out.mean, original(x), rtol=tolerance, atol=tolerance)


@all_networks
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_dtype_follows_the_original(
    make: type, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    twin = from_torch(make().to(dtype))
    floats = [x for x in twin.state_dict().values() if x.is_floating_point()]
    assert {x.dtype for x in floats} == {dtype}


def test_batch_norm_is_copied_in_full_precision() -> None:
    original = nn.BatchNorm1d(4).double()
    for value in (original.weight.data, original.bias.data, original.running_var):
        value.uniform_(0.5, 1.5)
    twin = from_torch(original)
    torch.testing.assert_close(twin.state_dict(), original.state_dict(), rtol=0, atol=0)


@all_networks
def test_the_original_is_left_as_it_is(make: type, shape: tuple[int, ...]) -> None:
    original = make()
    text, state = str(original), copy.deepcopy(original.state_dict())
    twin = from_torch(original)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.add_(1.0)
    assert str(original) == text
    torch.testing.assert_close(original.state_dict(), state, rtol=0, atol=0)


@all_networks
@pytest.mark.parametrize("is_training", [True, False])
def test_training_mode_is_kept(make: type, shape: tuple[int, ...], is_training: bool) -> None:
    twin = from_torch(make().train(is_training))
    assert {module.training for module in twin.modules()} == {is_training}


def test_training_mode_is_kept_layer_by_layer() -> None:
    original = nn.Sequential(nn.BatchNorm1d(6).eval(), nn.Linear(6, 3))
    assert [layer.training for layer in from_torch(original)] == [False, True]


# Variance


@pytest.mark.parametrize("rho", [-10.0, -18.0])
def test_every_variance_starts_at_the_given_rho(rho: float) -> None:
    members = gaussian_parameters(from_torch(mlp(), rho=rho))
    assert len(members) == 3
    assert all((m.rho == rho).all() for m in members)


@all_networks
def test_every_weight_and_bias_of_an_affine_layer_is_gaussian(
    make: type, shape: tuple[int, ...]
) -> None:
    original = make()
    affine = [m for m in original.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    expected = sum(p.numel() for m in affine for p in m.parameters())
    assert sum(m.mean.numel() for m in gaussian_parameters(from_torch(original))) == expected


def test_the_twin_is_trainable_end_to_end() -> None:
    twin = from_torch(convnet())
    out = twin(torch.randn(PICTURES))
    (out.mean.square().sum() + out.var.sum()).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in twin.parameters())


def test_one_layer_in_two_places_stays_one_layer() -> None:
    layer = nn.Linear(6, 6)
    twin = from_torch(nn.Sequential(layer, nn.ReLU(), layer))
    assert isinstance(twin[0], moment.Linear)
    assert twin[2] is twin[0]


def test_what_is_frozen_stays_frozen() -> None:
    original = nn.Sequential(nn.Linear(6, 8).requires_grad_(False), nn.Linear(8, 3))
    frozen = [not any(p.requires_grad for p in m.parameters()) for m in from_torch(original)]
    assert frozen == [True, False]


def test_softmax_over_channels_of_images_is_not_taken_for_one_over_columns() -> None:
    x = torch.randn(PICTURES)
    out = from_torch(nn.Softmax(dim=1))(x)
    torch.testing.assert_close(out.mean, x.softmax(1))


def test_a_single_layer_is_converted_too() -> None:
    assert isinstance(from_torch(nn.Linear(6, 3)).weight, GaussianParameter)


def test_names_of_layers_in_a_sequential_are_kept() -> None:
    original = nn.Sequential(
        OrderedDict(first=nn.Linear(6, 8), act=nn.ReLU(), last=nn.Linear(8, 3))
    )
    assert [name for name, _ in from_torch(original).named_children()] == ["first", "act", "last"]


# What cannot be converted


def test_layers_without_a_rule_are_listed_all_at_once_with_their_place() -> None:
    network = nn.Sequential(
        nn.Linear(6, 8),
        nn.Sequential(nn.LayerNorm(8), nn.ReLU()),
        nn.Bilinear(8, 8, 3),
    )
    with pytest.raises(ConfigError) as error:
        from_torch(network)
    assert "1.0 (LayerNorm); 2 (Bilinear)" in str(error.value)


def test_the_message_lists_the_layers_that_have_a_rule() -> None:
    with pytest.raises(ConfigError, match=r"There are rules for .*Conv2d, .*Linear, .*Tanh"):
        from_torch(nn.LayerNorm(4))


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (nn.Conv2d(2, 3, 3, padding_mode="reflect"), "padding_mode must be 'zeros'"),
        (nn.Conv2d(2, 3, 2, padding="same"), "padding must be"),
        (nn.GELU(approximate="tanh"), "approximate must be 'none'"),
        (nn.Dropout(1.0), "0 <= p < 1"),
        (nn.MaxPool2d(2, return_indices=True), "return_indices"),
    ],
    ids=lambda x: str(x),
)
def test_an_option_without_a_rule_is_refused_with_the_place_and_the_reason(
    layer: nn.Module, reason: str
) -> None:
    with pytest.raises(ConfigError, match=rf"body\.1 \({type(layer).__name__}: .*{reason}"):
        from_torch(nn.Sequential(OrderedDict(body=nn.Sequential(nn.Identity(), layer))))


def test_a_module_with_weights_of_its_own_is_refused() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.layer = nn.Linear(6, 3)

    with pytest.raises(ConfigError, match=r"1 \(Scaled\)"):
        from_torch(nn.Sequential(nn.ReLU(), Scaled()))


def test_the_original_is_left_as_it_is_when_it_cannot_be_converted() -> None:
    original = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8))
    with pytest.raises(ConfigError):
        from_torch(original)
    assert type(original[0]) is nn.Linear


def test_moments_of_a_converted_network_are_those_of_the_same_layers_by_hand() -> None:
    original = mlp()
    by_hand = nn.Sequential(
        moment.Linear(6, 8, rho=-3.0), moment.Tanh(), moment.Linear(8, 3, bias=False, rho=-3.0)
    )
    with torch.no_grad():
        for i in (0, 2):
            by_hand[i].weight.mean.copy_(original[i].weight)
        by_hand[0].bias.mean.copy_(original[0].bias)
    x = torch.randn(VECTORS)
    torch.testing.assert_close(from_torch(original, rho=-3.0)(x), by_hand(x))
