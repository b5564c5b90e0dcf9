"""Drawn weights: their moments in closed form, torch.nn with each draw, what evaluation does."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from mpnet.layers import LayerFamily
from mpnet.layers.plain import PlainLayers
from mpnet.layers.sampled import SampledLayers, UnitSampledLayers, gaussian_weights
from mpnet.networks import Network, build_network

SHAPE = (1, 20, 20)
N_DRAWS = 2000

every_network = pytest.mark.parametrize("name", ["mlp", "alexnet"])
every_family = pytest.mark.parametrize(
    "family", [partial(SampledLayers, samples=2, evaluation_samples=2), UnitSampledLayers]
)


def tiny(name: str, layers: LayerFamily) -> Network:
    """A network on small images, two tasks."""
    options = {"hidden": [6, 5]} if name == "mlp" else {}
    return build_network(name, layers, SHAPE, [3, 2], **options)


def spread(layer: nn.Module) -> nn.Module:
    """The layer with a different sigma for everything that has one."""
    with torch.no_grad():
        for member in gaussian_weights(layer):
            member.rho.uniform_(-2, 1)
    return layer


# Moments


def check_moments(got: Tensor, mean: Tensor, var: Tensor) -> None:
    error = (got.mean(0) - mean) / (var / N_DRAWS).sqrt()
    assert error.abs().max() < 5
    torch.testing.assert_close(got.var(0), var, rtol=0.2, atol=0)


@pytest.mark.parametrize(
    ("shape", "make", "rule"),
    [
        ((2, 4), lambda layers: layers.linear(4, 3), F.linear),
        ((2, 3, 4, 4), lambda layers: layers.conv2d(3, 2, 2), F.conv2d),
    ],
    ids=["linear", "conv2d"],
)
def test_outputs_have_the_moments_of_a_gaussian_map(
    shape: tuple[int, ...], make: Callable[[LayerFamily], nn.Module], rule: Callable[..., Tensor]
) -> None:
    layers = SampledLayers(samples=N_DRAWS, evaluation_samples=0)
    layer, x = spread(make(layers)), torch.randn(shape)
    with torch.no_grad():
        mean = rule(x, layer.weight.mean, layer.bias.mean)
        var = rule(x.square(), layer.weight.sigma.square(), layer.bias.sigma.square())
        check_moments(layer(layers.input(x, 0)), mean, var)


def test_a_units_sigma_is_that_of_all_its_weights() -> None:
    layer, x = spread(UnitSampledLayers().linear(4, 3)), torch.randn(2, 4)
    with torch.no_grad():
        draws = torch.cat([layer(x.unsqueeze(0)) for _ in range(N_DRAWS)])
        var = x.square().sum(1, keepdim=True) * layer.weight.sigma.square().T
        check_moments(draws, F.linear(x, layer.weight.mean), var)


# Draws


@every_network
@pytest.mark.parametrize("samples", [1, 3])
def test_each_sample_is_torch_nn_with_the_drawn_weights(name: str, samples: int) -> None:
    network, plain = tiny(name, SampledLayers(samples=samples)), tiny(name, PlainLayers())
    x = torch.randn(4, *SHAPE)
    output = network(x, 1)
    assert output.shape == (samples, 4, 2)
    members = [*gaussian_weights(network.trunk), *gaussian_weights(network.heads[1])]
    names = [n for n, _ in plain.named_parameters() if not n.startswith("heads.0")]
    for k in range(samples):
        drawn = [member.mean + member.sigma * member.noise[k] for member in members]
        expected = functional_call(plain, dict(zip(names, drawn, strict=True)), (x, 1))
        torch.testing.assert_close(output[k], expected, rtol=1e-4, atol=1e-5)


@every_family
def test_every_training_pass_draws_anew(family: Callable[[], LayerFamily]) -> None:
    network, x = tiny("mlp", family()), torch.randn(2, *SHAPE)
    assert not torch.equal(network(x, 0), network(x, 0))


@every_family
@every_network
def test_evaluation_repeats_itself_and_leaves_the_random_stream_alone(
    family: Callable[[], LayerFamily], name: str
) -> None:
    network, x = tiny(name, family()).eval(), torch.randn(4, *SHAPE)
    before = torch.get_rng_state()
    whole, again = network(x, 0), network(x, 0)
    parts = torch.cat([network(x[:1], 0), network(x[1:], 0)], dim=1)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(whole, again)
    torch.testing.assert_close(parts, whole, rtol=1e-4, atol=1e-5)


def test_evaluation_draws_differ_between_weights_and_keep_the_training_noise() -> None:
    layers = SampledLayers()
    first, second = (layers.linear(3, 3).weight for _ in range(2))
    first()
    noise = first.noise
    drawn = [(m.eval()() - m.mean) / m.sigma for m in (first, second)]
    assert first.noise is noise
    assert (drawn[0] - drawn[1]).abs().min() > 1e-4


# Likelihood


def test_the_nll_is_the_mean_over_samples_and_examples() -> None:
    output, labels = torch.randn(3, 4, 5), torch.tensor([0, 4, 2, 2])
    expected = torch.stack([F.cross_entropy(sample, labels) for sample in output]).mean()
    torch.testing.assert_close(SampledLayers().nll(output, labels), expected)


def test_a_prediction_is_the_mean_probability_and_its_variance_over_samples() -> None:
    output = torch.randn(3, 4, 5)
    p, var = SampledLayers().predict(output)
    each = torch.stack([sample.softmax(1) for sample in output])
    torch.testing.assert_close(p, each.mean(0))
    assert var is not None
    torch.testing.assert_close(var, (each - p).square().sum(0) / 2)
    assert SampledLayers().predict(output[:1]).variance is None


def test_rows_are_examples() -> None:
    value = torch.randn(3, 5, 2)
    assert torch.equal(SampledLayers().rows(value, 1, 3), value[:, 1:3])


# Initialisation


@pytest.mark.parametrize("ratio", [0.125, 0.5])
def test_the_ratio_divides_a_weights_variance_between_sigma_and_mean(ratio: float) -> None:
    layers = UnitSampledLayers(ratio=ratio)
    pairs = [(layers.linear(200, 300), 2 / 200), (layers.conv2d(30, 60, 5), 2 / (60 * 25))]
    for layer, total in pairs:
        sigma_squared = layer.weight.sigma.square()
        torch.testing.assert_close(sigma_squared, torch.full_like(sigma_squared, ratio * total))
        assert float(layer.weight.mean.detach().var()) == pytest.approx(
            (1 - ratio) * total, rel=0.05
        )
        assert (layer.bias.mean == 0).all()


@pytest.mark.parametrize("rho", [-80.0, -3.0, 5.0])
def test_rho_starts_where_it_is_asked_to(rho: float) -> None:
    for member in gaussian_weights(SampledLayers(rho=rho).linear(3, 2)):
        torch.testing.assert_close(member.rho, torch.full_like(member.rho, rho))


def test_heads_are_gaussian_only_where_every_weight_has_a_sigma() -> None:
    assert gaussian_weights(tiny("mlp", SampledLayers()).heads)
    assert not gaussian_weights(tiny("mlp", UnitSampledLayers()).heads)
