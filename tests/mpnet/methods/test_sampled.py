"""BBB, UCB and UCL against torch.distributions and sums written out by hand."""

import itertools
import math

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Categorical, MixtureSameFamily, Normal

from mpnet.layers.sampled import GaussianWeight, SampledLayers, Samples, UnitSampledLayers
from mpnet.methods.bbb import BayesByBackprop, ScaleMixture
from mpnet.methods.ucb import UncertaintyGuidedBayes
from mpnet.methods.ucl import UncertaintyRegularised
from mpnet.networks import Network, Trunk, build_network
from tests.mpnet.conftest import digits_run, trained

PRIORS = [(0.0, -6.0, 0.25), (-1.0, -3.0, 0.75)]  # log sigma_1, log sigma_2, pi


def mixture(
    log_sigma_wide: float, log_sigma_narrow: float, wide_share: float
) -> MixtureSameFamily:
    """The prior as torch has it."""
    shares = Categorical(probs=torch.tensor([wide_share, 1 - wide_share]))
    sigmas = torch.tensor([log_sigma_wide, log_sigma_narrow]).exp()
    return MixtureSameFamily(shares, Normal(torch.zeros(2), sigmas))


# Bayes by backprop


def after_a_pass(prior: tuple[float, float, float]) -> BayesByBackprop:
    """A small network that has drawn its weights four times."""
    network = build_network("mlp", SampledLayers(samples=4), (1, 3, 3), [2, 3], hidden=[5])
    wide, narrow, share = prior
    method = BayesByBackprop(
        network, tau=0.1, log_sigma_wide=wide, log_sigma_narrow=narrow, wide_share=share
    )
    network(torch.randn(2, 1, 3, 3), 1)
    return method


@pytest.mark.parametrize("prior", PRIORS)
def test_the_kl_and_its_gradient_are_those_of_an_independent_monte_carlo_estimate(
    prior: tuple[float, float, float],
) -> None:
    method = after_a_pass(prior)
    expected = torch.zeros(())
    for member in method.trained_weights(1):
        q = Normal(member.mean, nn.functional.softplus(member.rho))
        for noise in member.noise:
            w = q.loc + q.scale * noise
            expected = expected + (q.log_prob(w) - mixture(*prior).log_prob(w)).sum() / 4
    parameters = method.trained_parameters(1)
    gradients = torch.autograd.grad(0.1 * expected, parameters)
    method.add_penalty_gradient(1)
    torch.testing.assert_close(method.penalty(1), 0.1 * expected)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert parameter.grad is not None
        assert parameter.grad.abs().min() > 0
        tolerance = 1e-5 * float(gradient.abs().max())
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=tolerance)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("size", [0.0, 1e-4, 1e-2, 1.0, 30.0])
def test_the_pull_of_the_prior_is_minus_the_slope_of_its_density(
    prior: tuple[float, float, float], size: float
) -> None:
    w = torch.tensor([size, -size], requires_grad=True)
    (slope,) = torch.autograd.grad(mixture(*prior).log_prob(w).sum(), w)
    (pull,) = ScaleMixture(*prior).pull((w.detach(),))
    torch.testing.assert_close(pull, -slope, rtol=1e-4, atol=1e-6)


def test_the_estimate_converges_to_the_integral() -> None:
    prior = (-1.0, -3.0, 0.75)
    method = after_a_pass(prior)
    member = GaussianWeight(torch.tensor([0.2]), torch.tensor([0.1]), Samples(100_000, 1))
    member()
    q, w = Normal(0.2, 0.1), torch.linspace(-0.8, 1.2, 100_001)
    densities = q.log_prob(w).exp() * (q.log_prob(w) - mixture(*prior).log_prob(w))
    assert float(method._kl(member).detach()) == pytest.approx(
        float(torch.trapezoid(densities, w)), rel=0.02
    )


def test_the_heads_of_other_tasks_are_not_held() -> None:
    method = after_a_pass(PRIORS[0])
    method.add_penalty_gradient(1)
    assert all(p.grad is None for p in method.network.head_parameters(0))


# UCB


def test_ucb_lets_each_mean_of_the_trunk_take_sigma_times_its_step_from_the_second_task_on() -> (
    None
):
    method = trained(digits_run("ucb", layers={"samples": 1}), 1)
    assert isinstance(method, UncertaintyGuidedBayes)
    assert list(method.update_scales(0, 0.1)) == []
    scales = method.update_scales(1, 0.1)
    assert [id(p) for p, _ in scales] == [id(member.mean) for member in method.trunk()]
    for member, (_, scale) in zip(method.trunk(), scales, strict=True):
        torch.testing.assert_close(scale, torch.nn.functional.softplus(member.rho))


def test_the_smaller_its_sigma_the_less_a_weight_moves() -> None:
    def shifts(name: str) -> list[Tensor]:
        config = digits_run(name, layers={"samples": 1, "rho": -6.0})
        first, second = trained(config, 1), trained(config, 2)
        pairs = zip(
            first.network.trunk_parameters(), second.network.trunk_parameters(), strict=True
        )
        return [(a - b).abs().mean() for a, b in pairs]

    free, held = shifts("bbb"), shifts("ucb")
    for i in (0, 2):  # means, then rhos: of the weights, then of the biases
        assert held[i] < 0.02 * free[i]
        assert held[i + 1] > 0.2 * free[i + 1]


# UCL


def hand_made(*, convolution: bool) -> UncertaintyRegularised:
    """Two layers of two units or filters, then three units; every sigma and anchor its own."""
    layers = UnitSampledLayers()
    if convolution:
        first, n_features = layers.conv2d(1, 2, 2), 2 * 4
        shape: tuple[int, ...] = (1, 3, 3)
    else:
        first, n_features, shape = layers.linear(3, 2), 2, (3,)
    flatten = [layers.flatten()] if convolution else []
    body = layers.sequential(first, *flatten, layers.relu(), layers.linear(n_features, 3))
    method = UncertaintyRegularised(
        Network(layers, Trunk(body, 3), shape, [2, 2]), beta=0.3, alpha=0.7, strength=0.5
    )
    with torch.no_grad():
        for layer in method.trunk():
            layer.weight.rho.uniform_(-2, 0)
            layer.bias.mean.normal_()
        method.end_task(0, None)  # type: ignore[arg-type]
        for parameter in method.network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return method


def by_hand(method: UncertaintyRegularised, initial: list[float], t: int) -> float:
    """The three regularisers, summed weight by weight; initial sigmas by layer."""
    anchor, old_sigmas = method.anchor.tolist(), method.anchor_sigma.tolist()
    squares = kinks = units = 0.0
    incoming = [0.0]
    for layer, start in zip(method.trunk(), initial, strict=True):
        mean = layer.weight.mean.reshape(*layer.weight.mean.shape[:2], -1)
        n_out, n_in, n_taps = mean.shape
        old = [anchor.pop(0) for _ in range(mean.numel())]
        old_bias = [anchor.pop(0) for _ in range(n_out)]
        old_sigma = [old_sigmas.pop(0) for _ in range(n_out)]
        for i, j, k in itertools.product(range(n_out), range(n_in), range(n_taps)):
            before = old[(i * n_in + j) * n_taps + k]
            shift = mean[i, j, k].item() - before
            strength = max(start / old_sigma[i], incoming[j * len(incoming) // n_in])
            squares += (strength * shift) ** 2
            kinks += start**2 * (before / old_sigma[i]) ** 2 * abs(shift)
        for i in range(n_out):
            shift = layer.bias.mean[i].item() - old_bias[i]
            squares += (start / old_sigma[i] * shift) ** 2
            kinks += start**2 * (old_bias[i] / old_sigma[i]) ** 2 * abs(shift)
            sigma = math.log1p(math.exp(layer.weight.rho[i].item()))
            ratio = (sigma / old_sigma[i]) ** 2
            units += ratio - math.log(ratio) + sigma**2 - math.log(sigma**2)
        incoming = [start / sigma for sigma in old_sigma]
    a, has_kinks = (0.7, 0) if t == 0 else (1.0, 1)
    return 0.5 * (a / 2 * squares + has_kinks * kinks + 0.3 / 2 * units)


@pytest.mark.parametrize("t", [0, 1, 2])
@pytest.mark.parametrize("convolution", [False, True], ids=["linear", "conv to linear"])
def test_ucls_penalty_is_the_sum_written_out(convolution: bool, t: int) -> None:
    method = hand_made(convolution=convolution)
    fans = (2 * 4, 8) if convolution else (3, 2)  # outgoing of the filters, incoming otherwise
    initial = [math.sqrt(0.5 * 2 / fan) for fan in fans]
    assert float(method.penalty(t).detach()) == pytest.approx(
        by_hand(method, initial, t), rel=1e-4
    )


def test_a_weight_is_held_by_the_firmer_of_the_units_it_connects() -> None:
    method = hand_made(convolution=False)
    method.initial_sigma.fill_(1.0)
    method.anchor_sigma.copy_(torch.tensor([0.5, 0.1, 1.0, 0.2, 0.125]))
    first, second = method.strengths()
    torch.testing.assert_close(first, torch.tensor([[2.0] * 3, [10.0] * 3]))
    expected = torch.tensor([[2.0, 10.0], [5.0, 10.0], [8.0, 10.0]])
    torch.testing.assert_close(second, expected)


def test_a_channels_strength_is_repeated_over_its_positions() -> None:
    method = hand_made(convolution=True)
    method.initial_sigma.fill_(1.0)
    method.anchor_sigma.copy_(torch.tensor([0.5, 0.1, 1.0, 0.2, 0.125]))
    first, second = method.strengths()
    assert first.flatten().tolist() == pytest.approx([2.0, 10.0])
    rows = [[2.0] * 4 + [10.0] * 4, [5.0] * 4 + [10.0] * 4, [8.0] * 4 + [10.0] * 4]
    torch.testing.assert_close(second, torch.tensor(rows))


def test_the_first_task_is_held_to_the_initial_weights_and_each_later_one_to_the_last() -> None:
    fresh, after = trained(digits_run("ucl"), 0), trained(digits_run("ucl"), 1)
    assert isinstance(fresh, UncertaintyRegularised)
    assert isinstance(after, UncertaintyRegularised)
    for method in (fresh, after):
        anchor, sigma = method._trunk_state()
        assert torch.equal(method.anchor, anchor)
        assert torch.equal(method.anchor_sigma, sigma)
    assert torch.equal(after.initial_sigma, fresh.initial_sigma)
    assert not torch.equal(after.anchor, fresh.anchor)


@pytest.mark.parametrize("t", [0, 1])
def test_ucls_sigmas_have_a_learning_rate_of_their_own(t: int) -> None:
    options = {"name": "ucl", "rho_learning_rate": 0.02}
    method = trained(digits_run(method=options), 0)
    assert isinstance(method, UncertaintyRegularised)
    scales = method.update_scales(t, 1e-3)
    assert [id(p) for p, _ in scales] == [id(layer.weight.rho) for layer in method.trunk()]
    assert all(torch.allclose(scale, torch.tensor(20.0)) for _, scale in scales)
