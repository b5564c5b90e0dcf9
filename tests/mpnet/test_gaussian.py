"""Variance, log-variance, SNR and KL against double precision and torch.distributions."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from mpnet import gaussian
from mpnet.layers.moment import Linear, natural_step

RHO_GRID = (-10.0, -12.0, -14.0, -16.0, -18.0)  # the paper's
RHOS = (*RHO_GRID, -30.0)
TAUS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12)
N = 64


def posterior(rho: float, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Trainable mean and rho of N parameters, all variances near softplus(rho)."""
    mean = torch.randn(N, dtype=dtype).mul_(0.1).requires_grad_()
    return mean, (rho + 0.1 * torch.randn(N, dtype=dtype)).requires_grad_()


def prior_of(mean: Tensor, rho: Tensor) -> tuple[Tensor, Tensor]:
    """A prior that equals the posterior."""
    return mean.detach().clone(), gaussian.variance(rho).detach().clone()


def unit_prior(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """The prior at the start of training, N(0, 1)."""
    return torch.zeros(N, dtype=dtype), torch.ones(N, dtype=dtype)


def log_variance_in_double(rho: Tensor) -> Tensor:
    """The oracle: plain log of softplus, where double precision is enough for it."""
    return F.softplus(rho.double()).log()


def test_variance_is_softplus_of_rho() -> None:
    rho = torch.linspace(-40, 15, 200, dtype=torch.float64)
    torch.testing.assert_close(gaussian.variance(rho), torch.log1p(rho.exp()), rtol=1e-12, atol=0)


@pytest.mark.parametrize("rho", RHOS)
def test_variance_does_not_underflow_in_single_precision(rho: float) -> None:
    var = gaussian.variance(torch.tensor([rho]))
    expected = torch.log1p(torch.tensor([rho], dtype=torch.float64).exp())
    torch.testing.assert_close(var.double(), expected, rtol=1e-6, atol=0)


def test_slope_is_the_derivative_of_the_variance() -> None:
    rho = torch.linspace(-30, 15, 100, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(gaussian.variance(rho).sum(), rho)
    torch.testing.assert_close(gaussian.variance_and_slope(rho)[1], expected, rtol=1e-12, atol=0)


def test_a_known_variance_has_value_and_gradient_of_the_variance() -> None:
    rho = torch.linspace(-30, 15, 100, dtype=torch.float64, requires_grad=True)
    known = gaussian.variance_and_slope(rho)
    assert torch.equal(gaussian.known_variance(rho, *known), gaussian.variance(rho))
    (gradient,) = torch.autograd.grad(gaussian.known_variance(rho, *known).sum(), rho)
    (expected,) = torch.autograd.grad(gaussian.variance(rho).sum(), rho)
    torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("rho", [-200.0, -30.0, -18.0, -17.01, -16.99, -10.0, 0.0, 5.0, 50.0])
def test_log_variance_is_accurate_in_single_precision(rho: float) -> None:
    value = torch.tensor([rho])
    actual = gaussian.log_variance(value)
    torch.testing.assert_close(
        actual.double(), log_variance_in_double(value), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("rho", [-200.0, -30.0, -18.0, -17.01, -16.99, -10.0, 0.0, 5.0, 50.0])
def test_gradient_of_log_variance_is_accurate_in_single_precision(rho: float) -> None:
    single = torch.tensor([rho], requires_grad=True)
    double = single.detach().double().requires_grad_()
    gaussian.log_variance(single).sum().backward()
    log_variance_in_double(double).sum().backward()
    assert single.grad is not None and double.grad is not None
    torch.testing.assert_close(single.grad.double(), double.grad, rtol=1e-6, atol=0)


def test_snr_is_the_magnitude_of_the_mean_over_the_variance() -> None:
    mean, var = torch.tensor([-3.0, 0.0, 2.0]), torch.tensor([0.5, 0.1, 4.0])
    torch.testing.assert_close(gaussian.snr(mean, var), torch.tensor([6.0, 0.0, 0.5]))


def test_kl_equals_that_of_torch_distributions() -> None:
    mean, prior_mean = torch.randn(2, 500, dtype=torch.float64)
    var, prior_var = torch.rand(2, 500, dtype=torch.float64) * 3 + 0.05
    expected = kl_divergence(Normal(mean, var.sqrt()), Normal(prior_mean, prior_var.sqrt()))
    actual = gaussian.kl(mean, var, prior_mean, prior_var)
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-10)


def test_total_kl_is_the_weighted_sum_of_kl() -> None:
    mean, rho = posterior(-2.0, torch.float64)
    moments = (mean, gaussian.variance(rho), *unit_prior(torch.float64))
    tau = torch.rand(N, dtype=torch.float64)
    expected = sum(t * k for t, k in zip(tau, gaussian.kl(*moments), strict=True))
    torch.testing.assert_close(gaussian.total_kl(*moments, tau), expected)


@pytest.mark.parametrize("rho", RHOS)
def test_kl_is_exactly_zero_once_the_prior_is_the_posterior(rho: float) -> None:
    mean, raw = posterior(rho)
    kl = gaussian.kl(mean, gaussian.variance(raw), *prior_of(mean, raw))
    assert torch.equal(kl, torch.zeros(N))


@pytest.mark.parametrize("rho", RHOS)
def test_gradient_of_kl_is_exactly_zero_once_the_prior_is_the_posterior(rho: float) -> None:
    mean, raw = posterior(rho)
    gaussian.total_kl(mean, gaussian.variance(raw), *prior_of(mean, raw)).backward()
    assert torch.equal(mean.grad, torch.zeros(N))
    assert torch.equal(raw.grad, torch.zeros(N))


def add_kl_gradient(
    mean: Tensor, rho: Tensor, prior: tuple[Tensor, Tensor], tau: float | Tensor
) -> None:
    """The closed form for one tensor."""
    known = gaussian.Known(mean, rho, *gaussian.variance_and_slope(rho), *prior)
    gaussian.add_kl_gradient([known], [tau] if isinstance(tau, Tensor) else tau)


@pytest.mark.parametrize("rho", RHOS)
def test_closed_form_gradient_is_exactly_zero_once_the_prior_is_the_posterior(rho: float) -> None:
    mean, raw = posterior(rho)
    add_kl_gradient(mean, raw, prior_of(mean, raw), 1e-3)
    assert torch.equal(mean.grad, torch.zeros(N))
    assert torch.equal(raw.grad, torch.zeros(N))


@pytest.mark.parametrize("rho", [-18.0, -10.0, -2.0, 1.0])
@pytest.mark.parametrize("tau", [1e-5, 1.0, torch.linspace(0.1, 2, N, dtype=torch.float64)])
def test_closed_form_gradient_equals_autograd(rho: float, tau: float | Tensor) -> None:
    mean, raw = posterior(rho, torch.float64)
    prior = (torch.randn(N, dtype=torch.float64), torch.rand(N, dtype=torch.float64) + 0.1)
    loss = gaussian.total_kl(mean, gaussian.variance(raw), *prior, tau)
    expected = torch.autograd.grad(loss, (mean, raw))
    add_kl_gradient(mean, raw, prior, tau)
    torch.testing.assert_close((mean.grad, raw.grad), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("tau", [0.5, torch.linspace(0.1, 2, N, dtype=torch.float64)])
def test_closed_form_gradient_adds_to_an_existing_gradient(tau: float | Tensor) -> None:
    mean, raw = posterior(-2.0, torch.float64)
    prior = unit_prior(torch.float64)
    loss = gaussian.total_kl(mean, gaussian.variance(raw), *prior, tau) + (mean * raw).sum()
    expected = torch.autograd.grad(loss, (mean, raw))
    mean.grad, raw.grad = raw.detach().clone(), mean.detach().clone()
    add_kl_gradient(mean, raw, prior, tau)
    torch.testing.assert_close((mean.grad, raw.grad), expected)


def test_closed_form_gradient_changes_neither_parameters_nor_prior_nor_tau() -> None:
    mean, raw = posterior(-2.0)
    tau, prior = torch.rand(N), (torch.randn(N), torch.rand(N) + 0.1)
    known = gaussian.Known(mean, raw, *gaussian.variance_and_slope(raw), *prior)
    given = (*known, tau)
    before = [x.detach().clone() for x in given]
    gaussian.add_kl_gradient([known], [tau])
    assert all(itertools.starmap(torch.equal, zip(given, before, strict=True)))


@pytest.mark.parametrize("rho", RHOS)
def test_closed_form_gradient_is_accurate_in_single_precision(rho: float) -> None:
    mean, raw = posterior(rho)
    doubles = [x.detach().double().requires_grad_() for x in (mean, raw)]
    add_kl_gradient(mean, raw, unit_prior(), 1.0)
    prior = unit_prior(torch.float64)
    gaussian.total_kl(doubles[0], gaussian.variance(doubles[1]), *prior).backward()
    expected = [x.grad.float() for x in doubles]
    torch.testing.assert_close([mean.grad, raw.grad], expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("rho", RHOS)
def test_all_is_finite_in_single_precision_under_the_first_prior(rho: float, tau: float) -> None:
    assert_all_finite(*posterior(rho), unit_prior(), tau)


@pytest.mark.parametrize("tau", TAUS)
@pytest.mark.parametrize("rho", RHOS)
def test_all_is_finite_in_single_precision_under_a_narrow_prior(rho: float, tau: float) -> None:
    prior = prior_of(*posterior(rho))
    assert_all_finite(*posterior(-10.0), prior, tau)


def assert_all_finite(mean: Tensor, rho: Tensor, prior: tuple[Tensor, Tensor], tau: float) -> None:
    """Values, autograd's gradients and those in closed form are finite numbers."""
    var = gaussian.variance(rho)
    loss = gaussian.total_kl(mean, var, *prior, tau)
    loss.backward()
    add_kl_gradient(mean, rho, prior, tau)
    values = (loss, mean.grad, rho.grad, gaussian.log_variance(rho), gaussian.snr(mean, var))
    assert all(v.isfinite().all() for v in values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_natural_step_reaches_every_variance_to_the_last_digits(dtype: torch.dtype) -> None:
    prior_var = torch.logspace(-30, 1.9, 200, dtype=dtype)
    rho = torch.zeros(200, dtype=dtype, requires_grad=True)
    rho.grad = torch.zeros_like(rho)
    natural_step_of(rho, prior_var, 1.0, 1.0)  # no likelihood, all of the way: to the prior's
    torch.testing.assert_close(gaussian.variance(rho.detach()), prior_var, rtol=1e-5, atol=0)


def natural_step_of(rho: Tensor, prior_var: Tensor, tau: float | Tensor, rate: float) -> None:
    """A step of one tensor, whose mean does not matter."""
    known = gaussian.Known(rho, rho, *gaussian.variance_and_slope(rho), rho, prior_var)
    gaussian.natural_step([known], [tau] if isinstance(tau, Tensor) else tau, rate)


def natural_steps(g: Tensor, prior_var: Tensor, tau: float | Tensor, n: int = 400) -> Tensor:
    """The variances after natural steps under a likelihood whose slope by the variance is g."""
    rho = torch.full_like(g, -12.0).requires_grad_()
    for _ in range(n):
        (g * gaussian.variance(rho)).sum().backward()
        natural_step_of(rho, prior_var, tau, 0.1)
    return gaussian.variance(rho).detach()


@pytest.mark.parametrize("tau", [1e-7, 1.0, torch.logspace(-12, 0, N)])
def test_natural_steps_end_where_the_elbo_is_stationary(tau: float | Tensor) -> None:
    g, prior_var = torch.logspace(-8, 2, N), torch.logspace(0, -4, N)
    var = natural_steps(g, prior_var, tau).double().requires_grad_()
    kl = gaussian.total_kl(torch.zeros(N), var, torch.zeros(N), prior_var.double(), tau)
    (g.double() * var).sum().add(kl).backward()
    relative = var.grad * var / (torch.as_tensor(tau) * 0.5)  # of the KL's -tau / (2 var)
    torch.testing.assert_close(relative, torch.zeros_like(relative), rtol=0, atol=1e-4)
    torch.testing.assert_close(
        1 / var, 1 / prior_var + 2 * g / tau, rtol=1e-4, atol=0, check_dtype=False
    )


def test_a_natural_step_goes_the_given_part_of_the_way_in_precision() -> None:
    rho, prior_var = torch.zeros(3, dtype=torch.float64, requires_grad=True), torch.ones(3)
    before, g = 1 / gaussian.variance(rho.detach()), torch.tensor([1.0, 2.0, 3.0])
    (g * gaussian.variance(rho)).sum().backward()
    natural_step_of(rho, prior_var, 0.5, 0.25)
    expected = 0.75 * before + 0.25 * (1 + 4 * g)
    torch.testing.assert_close(1 / gaussian.variance(rho.detach()), expected)
    assert rho.grad is None


@pytest.mark.parametrize("g", [-1e6, -1.0, 0.0, 1e6])
@pytest.mark.parametrize("tau", [1e-12, 1e-5])
def test_natural_steps_keep_variances_between_zero_and_the_priors_whatever_the_gradient(
    g: float, tau: float
) -> None:
    rho = torch.full((N,), -12.0, requires_grad=True)
    before = gaussian.variance(rho.detach())
    (g * gaussian.variance(rho)).sum().backward()
    natural_step_of(rho, torch.ones(N), tau, 0.1)
    after = gaussian.variance(rho.detach())
    assert rho.isfinite().all()
    assert ((after > 0) & (after < 1)).all()
    assert ((after > before) if g <= 0 else (after < before)).all()


def test_natural_steps_find_the_mean_field_posterior_of_a_linear_model() -> None:
    """y = w x + noise of variance 1: precisions are 1 / prior_var + the sum of x^2."""
    x = torch.randn(50, 4) * torch.tensor([0.1, 1.0, 3.0, 10.0])
    layer, n_images = Linear(4, 1, bias=False), len(x)
    for _ in range(300):
        mean, var = layer(x)
        (0.5 * (mean.square() + var)).mean().backward()
        layer.weight.mean.grad = None
        natural_step([layer.weight], 1 / n_images, 0.1)
    expected = 1 / (1 + x.square().sum(0, keepdim=True))
    torch.testing.assert_close(layer.weight.var, expected, rtol=1e-4, atol=0)
