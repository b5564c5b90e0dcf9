"""The contract of every network with every layer family."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from mpnet.errors import ConfigError
from mpnet.layers import LayerFamily
from mpnet.layers.gated import GatedLayers
from mpnet.layers.moment import MomentLayers, gaussian_parameters
from mpnet.layers.plain import PlainLayers
from mpnet.layers.sampled import SampledLayers, UnitSampledLayers
from mpnet.networks import NETWORKS, Network, build_network

N_CLASSES = [2, 5, 3]
SHAPE = (1, 20, 20)  # the smallest images that every network takes

all_networks = pytest.mark.parametrize("name", list(NETWORKS))
all_families = pytest.mark.parametrize(
    "family", [MomentLayers, PlainLayers, GatedLayers, SampledLayers, UnitSampledLayers]
)
all_norms = pytest.mark.parametrize("batch_norm", [False, True, "frozen", "per_task"])


def build(
    name: str, family: Callable[[], LayerFamily], *, batch_norm: object = False, **options: object
) -> Network:
    """The network on small images, three tasks."""
    return build_network(name, family(), SHAPE, N_CLASSES, batch_norm=batch_norm, **options)


def n_parameters(module: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(p.numel() for p in module.parameters())


# The contract


@all_networks
@all_families
@all_norms
@pytest.mark.parametrize("t", range(len(N_CLASSES)))
def test_a_head_gives_one_probability_per_class_of_its_task(
    name: str, family: type, batch_norm: object, t: int
) -> None:
    network = build(name, family, batch_norm=batch_norm)
    prediction = network.layers.predict(network(torch.randn(2, *SHAPE), t))
    assert prediction.probabilities.shape == (2, N_CLASSES[t])


@all_networks
@all_norms
def test_the_variance_of_logits_has_their_shape_and_is_not_negative(
    name: str, batch_norm: object
) -> None:
    out = build(name, MomentLayers, batch_norm=batch_norm)(torch.randn(2, *SHAPE), 0)
    assert out.var.shape == out.mean.shape
    assert (out.var >= 0).all()


@all_networks
@all_families
@all_norms
def test_the_trunk_and_what_tasks_have_of_their_own_are_disjoint_and_all_there_is(
    name: str, family: type, batch_norm: object
) -> None:
    network = build(name, family, batch_norm=batch_norm)
    parts = [network.trunk_parameters(), *map(network.task_parameters, range(len(N_CLASSES)))]
    ids = [id(p) for part in parts for p in part]
    assert len(ids) == len(set(ids))
    assert set(ids) == {id(p) for p in network.parameters()}


@all_networks
@all_families
def test_the_loss_of_a_task_reaches_the_trunk_and_its_own_head_only(
    name: str, family: type
) -> None:
    network = build(name, family)
    out = network(torch.randn(2, *SHAPE), 1)
    network.layers.nll(out, torch.tensor([0, 4])).backward()
    reached = {id(p) for p in network.parameters() if p.grad is not None}
    expected = [*network.trunk_parameters(), *network.head_parameters(1)]
    assert reached == {id(p) for p in expected}
    assert all(p.grad.isfinite().all() for p in expected)


@all_networks
@all_families
def test_predictions_are_probabilities(name: str, family: type) -> None:
    network = build(name, family)
    prediction = network.layers.predict(network(torch.randn(2, *SHAPE), 1))
    torch.testing.assert_close(prediction.probabilities.sum(1), torch.ones(2))
    assert prediction.variance is None or (prediction.variance >= 0).all()


@all_networks
@all_families
@all_norms
def test_state_is_restored_by_loading(name: str, family: type, batch_norm: object) -> None:
    old, new = (build(name, family, batch_norm=batch_norm).eval() for _ in range(2))
    new.load_state_dict(old.state_dict())
    x = torch.randn(2, *SHAPE)
    torch.testing.assert_close(new(x, 0), old(x, 0), rtol=0, atol=0)


@all_networks
@all_norms
def test_the_moment_twin_has_a_gaussian_for_every_weight_and_bias_of_an_affine_layer(
    name: str, batch_norm: object
) -> None:
    plain = build(name, PlainLayers, batch_norm=batch_norm)
    affine = [m for m in plain.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    members = gaussian_parameters(build(name, MomentLayers, batch_norm=batch_norm))
    assert sum(m.mean.numel() for m in members) == sum(map(n_parameters, affine))


@all_networks
def test_the_moment_network_is_the_plain_one_at_zero_variance(name: str) -> None:
    plain, twin = build(name, PlainLayers), build(name, lambda: MomentLayers(rho=-200.0))
    means = [m.mean for m in gaussian_parameters(twin)]
    with torch.no_grad():
        for mean, parameter in zip(means, plain.parameters(), strict=True):
            mean.copy_(parameter)
    x = torch.randn(2, *SHAPE)
    torch.testing.assert_close(twin(x, 0).mean, plain(x, 0), rtol=1e-4, atol=1e-5)


@all_networks
@all_families
def test_batch_norm_is_there_only_on_request(name: str, family: type) -> None:
    def n_norms(batch_norm: bool) -> int:
        modules = build(name, family, batch_norm=batch_norm).modules()
        return sum(type(m).__name__.startswith("BatchNorm") for m in modules)

    assert n_norms(False) == 0
    assert n_norms(True) > 0


# Sizes


def test_the_papers_mlp_has_as_many_parameters_as_its_sizes_say() -> None:
    trunk = build_network("mlp", PlainLayers(), (1, 28, 28), [2]).trunk
    assert n_parameters(trunk) == 784 * 800 + 800 + 800 * 800 + 800 == 1_268_800


@pytest.mark.parametrize("hidden", [[7], [7, 5], (9, 8, 7)])
def test_hidden_sizes_of_an_mlp_are_those_asked_for(hidden: list[int]) -> None:
    trunk = build_network("mlp", PlainLayers(), (2, 3, 3), [2], hidden=hidden).trunk
    sizes = [(m.in_features, m.out_features) for m in trunk if isinstance(m, nn.Linear)]
    assert sizes == list(zip([18, *hidden[:-1]], hidden, strict=True))


def test_alexnet_has_the_parameters_of_hats() -> None:
    trunk = build_network("alexnet", PlainLayers(), (3, 32, 32), [2]).trunk
    assert n_parameters(trunk) == 6_503_872


def test_alexnet_gives_1024_features_to_its_first_hidden_layer() -> None:
    trunk = build_network("alexnet", PlainLayers(), (3, 32, 32), [2]).trunk
    linears = [m for m in trunk if isinstance(m, nn.Linear)]
    assert [m.in_features for m in linears] == [1024, 2048]


@pytest.mark.parametrize(
    ("has_dropout", "rates"), [(True, [0.2, 0.2, 0.5, 0.5, 0.5]), (False, [])]
)
def test_alexnet_drops_at_hats_rates_on_request(has_dropout: bool, rates: list[float]) -> None:
    trunk = build_network("alexnet", PlainLayers(), SHAPE, [2], dropout=has_dropout).trunk
    assert [m.p for m in trunk if isinstance(m, nn.Dropout)] == rates


# What cannot be built


@pytest.mark.parametrize("shape", [(3, 32, 31), (3, 19, 19), (32, 32), (1, 3, 32, 32), (784,), ()])
@all_families
def test_alexnet_refuses_images_that_it_cannot_take(shape: tuple[int, ...], family: type) -> None:
    with pytest.raises(ConfigError, match=r"network alexnet: .*but got \(.*network mlp"):
        build_network("alexnet", family(), shape, [2])


@pytest.mark.parametrize("hidden", [[], [0], [800, -1]])
@all_families
def test_an_mlp_needs_hidden_layers_of_at_least_one_unit(hidden: list[int], family: type) -> None:
    with pytest.raises(ConfigError, match=r"network\.hidden: .*but got \["):
        build_network("mlp", family(), (1, 4, 4), [2], hidden=hidden)


@pytest.mark.parametrize(
    ("name", "shape"), [("mlp", (0, 4, 4)), ("mlp", (1, 4, -4)), ("alexnet", (0, 32, 32))]
)
@all_families
def test_images_without_pixels_are_refused(
    name: str, shape: tuple[int, ...], family: type
) -> None:
    with pytest.raises(ConfigError, match=r"but got \("):
        build_network(name, family(), shape, [2])


@pytest.mark.parametrize("n_classes", [[], [2, 0]])
@all_families
def test_a_network_without_tasks_or_a_task_without_classes_is_refused(
    n_classes: list[int], family: type
) -> None:
    with pytest.raises(ConfigError, match=r"but got \["):
        build_network("mlp", family(), (1, 4, 4), n_classes, hidden=[8])


def test_a_misspelt_network_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no network 'alxnet'; did you mean 'alexnet'\?"):
        build_network("alxnet", PlainLayers(), SHAPE, [2])


def test_an_unknown_network_is_answered_with_all_names() -> None:
    with pytest.raises(ConfigError, match=rf"there is {', '.join(NETWORKS)}\."):
        build_network("xyz", PlainLayers(), SHAPE, [2])
