"""Likelihoods against torch.distributions, double precision and Monte Carlo."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Independent, MultivariateNormal, Normal

from mpnet.errors import ConfigError
from mpnet.layers import moment
from mpnet.layers.moment import ExpectedSoftmax, Gaussian, Moments, TightSoftmax
from mpnet.layers.moment.likelihood import Likelihood
from mpnet.layers.moment.softmax import softmax_variance
from tests.mpnet.layers.moment._oracles import RHO_GRID, softmax_covariance

SIZES = (2, 3, 5, 10, 37, 100)
VARIANCES = (0.0, 1e-8, 1.0, 1e3, 1e6)
BATCH = 6

all_likelihoods = pytest.mark.parametrize(
    "likelihood",
    [
        Gaussian(),
        Gaussian(jitter=0.1),
        Gaussian(covariance="diagonal"),
        ExpectedSoftmax(),
        TightSoftmax(),
    ],
    ids=["full", "full with a large floor", "diagonal", "expected softmax", "tight softmax"],
)
both_jitters = pytest.mark.parametrize("jitter", [1e-3, 0.1])
all_sizes = pytest.mark.parametrize("n", SIZES)


def logits(
    n: int, dtype: torch.dtype = torch.float64, *, scale: float = 2.0, var: float = 3.0
) -> Moments:
    """Trainable random moments of (BATCH, n) logits with variances up to `var`."""
    mean = (scale * torch.randn(BATCH, n, dtype=dtype)).requires_grad_()
    return Moments(mean, (var * torch.rand(BATCH, n, dtype=dtype)).requires_grad_())


def labels(n: int) -> Tensor:
    """A random label for each example."""
    return torch.randint(n, (BATCH,))


def gradients(nll: Tensor, x: Moments) -> tuple[Tensor, ...]:
    """For mean and variance."""
    return torch.autograd.grad(nll, tuple(x))


def full_reference(x: Moments, y: Tensor, jitter: float) -> Tensor:
    """The paper's likelihood by a Cholesky factor, which is how torch.distributions works."""
    n = x.mean.shape[1]
    covariance = softmax_covariance(x) + jitter * torch.eye(n, dtype=x.mean.dtype)
    one_hot = F.one_hot(y, n).to(x.mean.dtype)
    return -MultivariateNormal(x.mean.softmax(1), covariance).log_prob(one_hot).mean()


def diagonal_reference(x: Moments, y: Tensor, jitter: float) -> Tensor:
    """The same without covariances."""
    var = softmax_covariance(x).diagonal(dim1=-2, dim2=-1) + jitter
    one_hot = F.one_hot(y, x.mean.shape[1]).to(x.mean.dtype)
    return -Independent(Normal(x.mean.softmax(1), var.sqrt()), 1).log_prob(one_hot).mean()


# The covariance of a softmax


@all_sizes
def test_rows_of_the_softmax_covariance_sum_to_zero(n: int) -> None:
    sums = softmax_covariance(logits(n)).sum(-1)
    torch.testing.assert_close(sums, torch.zeros_like(sums), rtol=0, atol=1e-14)


@all_sizes
def test_softmax_covariance_is_the_jacobian_around_the_variance(n: int) -> None:
    x = logits(n)
    jacobian = torch.stack(
        [torch.autograd.functional.jacobian(lambda m: m.softmax(0), m) for m in x.mean.detach()]
    )
    expected = jacobian @ torch.diag_embed(x.var) @ jacobian.mT
    torch.testing.assert_close(softmax_covariance(x), expected)


@all_sizes
def test_softmax_variance_is_the_diagonal_of_the_covariance(n: int) -> None:
    x = logits(n)
    expected = softmax_covariance(x).diagonal(dim1=-2, dim2=-1)
    actual = softmax_variance(x.mean.softmax(-1), x.var)
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-15)


def variance_by_sums(mean: Tensor, var: Tensor) -> Tensor:
    """The same diagonal from sums of positive terms only, in double precision."""
    p, var = mean.double().softmax(-1), var.double()
    others = 1 - torch.eye(p.shape[-1], dtype=p.dtype)
    not_p = p @ others  # 1 - p, without the subtraction
    return p.square() * (not_p.square() * var + (p.square() * var) @ others)


@pytest.mark.parametrize("lead", [0.0, 4.0, 8.0, 12.0, 16.0, 20.0])
def test_softmax_variance_of_a_confident_answer_is_accurate_in_single_precision(
    lead: float,
) -> None:
    mean, var = torch.tensor([[lead, 0.0, 0.5]]), torch.tensor([[1.0, 2.0, 0.5]])
    actual = softmax_variance(mean.softmax(-1), var)
    torch.testing.assert_close(actual.double(), variance_by_sums(mean, var), rtol=1e-4, atol=0)


# The paper's Gaussian


@both_jitters
@all_sizes
def test_full_gaussian_equals_the_multivariate_normal(n: int, jitter: float) -> None:
    x, y = logits(n), labels(n)
    expected = full_reference(x, y, jitter)
    torch.testing.assert_close(Gaussian(jitter=jitter)(x, y), expected, rtol=1e-8, atol=1e-8)


@both_jitters
@all_sizes
def test_gradients_of_the_full_gaussian_equal_the_multivariate_normals(
    n: int, jitter: float
) -> None:
    x, y = logits(n), labels(n)
    expected = gradients(full_reference(x, y, jitter), x)
    actual = gradients(Gaussian(jitter=jitter)(x, y), x)
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("var", [0.0, 1e-8, 10.0])
def test_full_gaussian_equals_the_multivariate_normal_at_any_variance(var: float) -> None:
    x, y = logits(10, var=var), labels(10)
    expected = full_reference(x, y, 1e-3)
    torch.testing.assert_close(Gaussian(jitter=1e-3)(x, y), expected, rtol=1e-8, atol=1e-8)


@both_jitters
@all_sizes
def test_diagonal_gaussian_equals_independent_normals(n: int, jitter: float) -> None:
    x, y = logits(n), labels(n)
    nll, expected = (
        Gaussian(jitter=jitter, covariance="diagonal")(x, y),
        diagonal_reference(x, y, jitter),
    )
    torch.testing.assert_close(nll, expected, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(gradients(nll, x), gradients(expected, x), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_gaussian_of_deterministic_logits_is_that_of_variance_zero(covariance: str) -> None:
    x, y = logits(5), labels(5)
    likelihood = Gaussian(covariance=covariance)
    expected = likelihood(Moments(x.mean, torch.zeros_like(x.mean)), y)
    torch.testing.assert_close(likelihood(Moments(x.mean), y), expected)


# Floor schedule


@pytest.mark.parametrize(
    ("progress", "jitter"),
    [
        (0.0, 0.1),
        (0.125, math.sqrt(0.1 * 0.01)),
        (0.25, 0.01),
        (0.5, 1e-3),
        (0.8, 1e-3),
        (1, 1e-3),
    ],
)
def test_floor_falls_geometrically_and_then_stays(progress: float, jitter: float) -> None:
    likelihood = Gaussian(jitter=1e-3, jitter_start=0.1, jitter_until=0.5)
    likelihood.anneal(progress)
    assert likelihood.jitter == pytest.approx(jitter, rel=1e-12)


def test_floor_is_at_its_start_before_training() -> None:
    assert Gaussian(jitter=1e-3, jitter_start=0.1).jitter == 0.1


def test_floor_rises_again_for_the_next_task() -> None:
    likelihood = Gaussian(jitter=1e-3, jitter_start=0.1)
    likelihood.anneal(1.0)
    likelihood.anneal(0.0)
    assert likelihood.jitter == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("progress", [0.0, 0.3, 1.0])
def test_floor_is_constant_without_a_start(progress: float) -> None:
    likelihood = Gaussian(jitter=0.01)
    likelihood.anneal(progress)
    assert likelihood.jitter == pytest.approx(0.01, rel=1e-12)


def test_the_annealed_floor_is_the_one_in_the_likelihood() -> None:
    x, y = logits(5), labels(5)
    likelihood = Gaussian(jitter=1e-3, jitter_start=0.1, jitter_until=0.5)
    likelihood.anneal(0.25)
    torch.testing.assert_close(likelihood(x, y), Gaussian(jitter=0.01)(x, y))


@pytest.mark.parametrize(
    "options",
    [
        {"jitter": 0.0},
        {"jitter": -1e-3},
        {"jitter": 0.1, "jitter_start": 0.01},
        {"jitter_until": 0.0},
        {"jitter_until": 1.5},
        {"covariance": "triangular"},
    ],
    ids=str,
)
def test_bad_settings_are_refused_by_name(options: dict) -> None:
    with pytest.raises(ConfigError, match=rf"Gaussian: .*{list(options)[-1]}.*but got"):
        Gaussian(**options)


# The bound on the expected softmax


both_bounds = pytest.mark.parametrize("bound", [ExpectedSoftmax(), TightSoftmax()])


@both_bounds
@pytest.mark.parametrize("var", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("n", [2, 10])
def test_the_bounds_are_below_the_expected_log_likelihood(
    bound: Likelihood, n: int, var: float
) -> None:
    x, y = logits(n, var=var), labels(n)
    samples = x.mean + x.var.sqrt() * torch.randn(20_000, BATCH, n, dtype=torch.float64)
    log_likelihoods = samples.log_softmax(-1)[:, torch.arange(BATCH), y]
    error = log_likelihoods.std(0) / math.sqrt(len(samples))
    assert (-bound.per_example(x, y) <= log_likelihoods.mean(0) + 4 * error).all()


@both_bounds
@pytest.mark.parametrize("with_zeros", [True, False])
def test_the_bounds_without_variance_are_the_cross_entropy(
    bound: Likelihood, with_zeros: bool
) -> None:
    mean, y = logits(5).mean, labels(5)
    nll = bound(Moments(mean, torch.zeros_like(mean) if with_zeros else None), y)
    torch.testing.assert_close(nll, F.cross_entropy(mean, y))


@both_bounds
def test_the_bounds_have_the_gradients_of_their_formulas(bound: Likelihood) -> None:
    y = labels(5)
    assert torch.autograd.gradcheck(lambda m, v: bound(Moments(m, v), y), tuple(logits(5)))


def pairwise_by_loops(x: Moments, y: Tensor) -> list[float]:
    """log(1 + sum over j != y of exp(m_j - m_y + (v_j + v_y) / 2)), as it is written."""
    found = []
    for mean, var, label in zip(x.mean.tolist(), x.var.tolist(), y.tolist(), strict=True):
        others = [j for j in range(len(mean)) if j != label]
        terms = [mean[j] - mean[label] + (var[j] + var[label]) / 2 for j in others]
        found.append(math.log1p(sum(math.exp(term) for term in terms)))
    return found


@pytest.mark.parametrize("n", [2, 10])
@pytest.mark.parametrize("scale", [0.1, 5.0])
def test_the_tight_bound_is_the_smaller_of_two(n: int, scale: float) -> None:
    x, y = logits(n, scale=scale), labels(n)
    pairwise = torch.tensor(pairwise_by_loops(x, y), dtype=torch.float64)
    expected = torch.minimum(ExpectedSoftmax().per_example(x, y), pairwise)
    torch.testing.assert_close(TightSoftmax().per_example(x, y), expected)


def test_a_sure_and_right_answer_hardly_pulls_on_its_variance_under_the_tight_bound() -> None:
    var = torch.full((1, 2), 4.0, requires_grad=True)
    x, y = Moments(torch.tensor([[6.0, -6.0]]), var), torch.tensor([0])
    jensen, tight = ExpectedSoftmax()(x, y), TightSoftmax()(x, y)
    assert jensen.item() == pytest.approx(2.0, rel=1e-3)
    assert tight.item() == pytest.approx(math.log1p(math.exp(-8)), rel=1e-3)
    (slope,) = torch.autograd.grad(tight, var)
    torch.testing.assert_close(slope, torch.full_like(slope, 0.5 / (1 + math.exp(8))))


def saturated_and_wrong(var: float) -> tuple[Moments, Tensor]:
    """Single-precision logits of -200 for the label and 200 for another class."""
    mean = torch.tensor([[200.0, -200.0, -200.0]], requires_grad=True)
    return Moments(mean, torch.full((1, 3), var)), torch.tensor([1])


@pytest.mark.parametrize("var", VARIANCES[:3])
def test_gradient_of_expected_softmax_does_not_vanish_on_a_saturated_wrong_answer(
    var: float,
) -> None:
    x, y = saturated_and_wrong(var)
    (gradient,) = torch.autograd.grad(ExpectedSoftmax()(x, y), x.mean)
    torch.testing.assert_close(gradient, torch.tensor([[1.0, -1.0, 0.0]]))


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("var", VARIANCES[:3])
def test_gradient_of_the_gaussian_vanishes_on_a_saturated_wrong_answer(
    var: float, covariance: str
) -> None:
    x, y = saturated_and_wrong(var)
    (gradient,) = torch.autograd.grad(Gaussian(covariance=covariance)(x, y), x.mean)
    assert torch.equal(gradient, torch.zeros(1, 3))


# Single precision


@all_likelihoods
@pytest.mark.parametrize("var", VARIANCES)
@pytest.mark.parametrize("scale", [0.0, 1.0, 200.0])
@pytest.mark.parametrize("n", [2, 10, 100])
def test_value_and_gradients_are_finite_in_single_precision(
    likelihood: Likelihood, var: float, scale: float, n: int
) -> None:
    mean = (scale * torch.randn(BATCH, n).sign()).requires_grad_()
    x = Moments(mean, torch.full((BATCH, n), var, requires_grad=True))
    nll = likelihood(x, labels(n))
    assert all(z.isfinite().all() for z in (nll, *gradients(nll, x)))


@all_likelihoods
@pytest.mark.parametrize("var", VARIANCES)
@pytest.mark.parametrize("answer", [0, 1])
def test_one_saturated_logit_is_finite_in_single_precision(
    likelihood: Likelihood, var: float, answer: int
) -> None:
    mean = torch.full((1, 10), -200.0)
    mean[0, 0] = 200.0
    x = Moments(mean.requires_grad_(), torch.full((1, 10), var, requires_grad=True))
    nll = likelihood(x, torch.tensor([answer]))
    assert all(z.isfinite().all() for z in (nll, *gradients(nll, x)))


@all_likelihoods
@pytest.mark.parametrize("var", VARIANCES)
@pytest.mark.parametrize("scale", [0.1, 3.0, 200.0])
@pytest.mark.parametrize("n", [2, 10, 100])
def test_single_precision_is_close_to_double(
    likelihood: Likelihood, var: float, scale: float, n: int
) -> None:
    x, y = logits(n, torch.float32, scale=scale, var=var), labels(n)
    single = likelihood.per_example(x, y)
    double = likelihood.per_example(Moments(x.mean.double(), x.var.double()), y)
    torch.testing.assert_close(single.double(), double, rtol=1e-4, atol=1e-4)


@all_likelihoods
@pytest.mark.parametrize("var", VARIANCES)
@pytest.mark.parametrize("n", [2, 10, 100])
def test_gradients_in_single_precision_are_close_to_double(
    likelihood: Likelihood, var: float, n: int
) -> None:
    x, y = logits(n, torch.float32, var=var), labels(n)
    doubles = Moments(*(z.detach().double().requires_grad_() for z in x))
    single = gradients(likelihood(x, y), x)
    double = gradients(likelihood(doubles, y), doubles)
    for actual, expected in zip(single, double, strict=True):
        error = (actual.double() - expected).norm() / expected.norm()
        assert error < 1e-3


@all_likelihoods
@pytest.mark.parametrize("rho", [*RHO_GRID, -30.0])
def test_a_network_has_finite_gradients_at_every_rho(likelihood: Likelihood, rho: float) -> None:
    network = nn.Sequential(
        moment.Linear(16, 32, rho=rho),
        moment.ReLU(),
        moment.Linear(32, 32, rho=rho),
        moment.ReLU(),
        moment.Linear(32, 3, rho=rho),
    )
    nll = likelihood(network(torch.randn(BATCH, 16)), labels(3))
    nll.backward()
    assert nll.isfinite()
    assert all(p.grad.isfinite().all() for p in network.parameters())
