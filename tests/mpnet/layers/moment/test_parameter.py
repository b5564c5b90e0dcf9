"""Gaussian parameters: their prior, their KL and the variances shared within a step."""

import io
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence

from mpnet.errors import InputError
from mpnet.layers import moment
from mpnet.layers.moment import (
    ExpectedSoftmax,
    GaussianParameter,
    add_kl_gradient,
    gaussian_parameters,
    shared_variances,
    total_kl,
)
from tests.mpnet.layers.moment._oracles import RHO_GRID, randomise


def parameter(rho: float = -2.0) -> GaussianParameter:
    """Random means, variances and priors."""
    member = GaussianParameter(torch.randn(3, 4), rho)
    randomise(member, rho)
    member.prior_mean.normal_()
    member.prior_var.uniform_(0.5, 2.0)
    return member


def network() -> nn.Module:
    """Two layers, in double precision."""
    layers = (moment.Linear(5, 4), moment.ReLU(), moment.Linear(4, 3, bias=False))
    return randomise(nn.Sequential(*layers).double(), -2.0)


@pytest.fixture
def members() -> list[GaussianParameter]:
    """Three tensors of Gaussian parameters: 20 + 4 + 12 in all."""
    return gaussian_parameters(network())


# State


def test_a_parameter_starts_at_the_given_mean_and_rho_under_a_unit_prior() -> None:
    mean = torch.randn(3, 4)
    member = GaussianParameter(mean, -12.0)
    expected = (mean, torch.full((3, 4), -12.0), torch.zeros(3, 4), torch.ones(3, 4))
    actual = (member.mean, member.rho, member.prior_mean, member.prior_var)
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)


def test_the_prior_is_saved_with_the_network() -> None:
    keys = moment.Linear(5, 4).state_dict().keys()
    assert {f"{p}.{m}" for p in ("weight", "bias") for m in ("prior_mean", "prior_var")} <= keys


def test_the_prior_survives_saving_and_loading_bit_for_bit() -> None:
    old, new = network(), network()
    for member in gaussian_parameters(old):
        member.set_prior_to_posterior()
    file = io.BytesIO()
    torch.save(old.state_dict(), file)
    file.seek(0)
    new.load_state_dict(torch.load(file))
    for a, b in zip(gaussian_parameters(old), gaussian_parameters(new), strict=True):
        assert torch.equal(a.prior_mean, b.prior_mean)
        assert torch.equal(a.prior_var, b.prior_var)


def test_the_prior_is_not_trained() -> None:
    assert {name for name, _ in parameter().named_parameters()} == {"mean", "rho"}


@pytest.mark.parametrize("rho", [*RHO_GRID, -30.0])
def test_the_prior_becomes_the_posterior_bit_for_bit(rho: float) -> None:
    member = parameter(rho)
    member.set_prior_to_posterior()
    assert torch.equal(member.prior_mean, member.mean)
    assert torch.equal(member.prior_var, member.var)


@pytest.mark.parametrize("rho", [*RHO_GRID, -30.0])
def test_kl_and_its_gradient_are_zero_after_the_prior_became_the_posterior(rho: float) -> None:
    member = parameter(rho)
    member.set_prior_to_posterior()
    member.total_kl().backward()
    zeros = torch.zeros(3, 4)
    assert all(torch.equal(x, zeros) for x in (member.kl(), member.mean.grad, member.rho.grad))


def test_the_new_prior_does_not_move_with_the_parameter() -> None:
    member = parameter()
    member.set_prior_to_posterior()
    before = member.prior_mean.clone()
    with torch.no_grad():
        member.mean.add_(1.0)
    assert torch.equal(member.prior_mean, before)


def test_log_variance_is_finite_where_the_variance_is_not_a_number_above_zero() -> None:
    member = GaussianParameter(torch.zeros(2), -200.0)
    torch.testing.assert_close(member.log_var, torch.full((2,), -200.0))


def test_snr_is_the_magnitude_of_the_mean_over_the_variance() -> None:
    member = parameter()
    torch.testing.assert_close(member.snr, member.mean.abs() / member.var)


def test_all_gaussian_parameters_are_found_in_order_of_registration() -> None:
    first, second = moment.Linear(5, 4), moment.Conv2d(1, 2, 3, bias=False)
    found = gaussian_parameters(nn.Sequential(first, nn.Sequential(moment.ReLU(), second)))
    expected = [first.weight, first.bias, second.weight]
    assert [id(m) for m in found] == [id(m) for m in expected]


# KL


def test_kl_is_that_of_the_posterior_against_the_prior() -> None:
    member = parameter()
    posterior = Normal(member.mean, member.var.sqrt())
    expected = kl_divergence(posterior, Normal(member.prior_mean, member.prior_var.sqrt()))
    torch.testing.assert_close(member.kl(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("tau", [1.0, 1e-5, torch.tensor(0.5)])
def test_total_kl_is_the_sum_over_members(members: list, tau: float | Tensor) -> None:
    expected = sum(tau * m.kl().sum() for m in members)
    torch.testing.assert_close(total_kl(members, tau), expected)


def test_total_kl_with_one_weight_per_parameter_is_the_sum_of_a_loop(members: list) -> None:
    tau = torch.rand(36, dtype=torch.float64)
    each = torch.cat([m.kl().flatten() for m in members])
    expected = sum(t * k for t, k in zip(tau, each, strict=True))
    torch.testing.assert_close(total_kl(members, tau), expected)


def test_total_kl_is_one_by_default(members: list) -> None:
    torch.testing.assert_close(total_kl(members), total_kl(members, 1.0))


@pytest.mark.parametrize("shape", [(35,), (37,), (1,), (36, 1), (4, 9)])
@pytest.mark.parametrize("function", [total_kl, add_kl_gradient])
def test_weights_of_a_wrong_shape_are_refused(
    members: list, function: Callable, shape: tuple[int, ...]
) -> None:
    with pytest.raises(InputError, match=r"tau must be a number or have shape \(36,\), but got"):
        function(members, torch.ones(shape))


@pytest.mark.parametrize(
    "tau", [1e-3, torch.tensor(0.5), torch.linspace(0, 1, 36, dtype=torch.float64)]
)
def test_gradient_in_closed_form_is_that_of_total_kl(members: list, tau: float | Tensor) -> None:
    trained = [p for m in members for p in m.parameters()]
    expected = torch.autograd.grad(total_kl(members, tau), trained)
    add_kl_gradient(members, tau)
    torch.testing.assert_close([p.grad for p in trained], list(expected))


def test_frozen_members_get_no_gradient(members: list) -> None:
    members[0].requires_grad_(False)
    add_kl_gradient(members)
    assert members[0].mean.grad is None and members[0].rho.grad is None
    assert members[1].mean.grad is not None


@pytest.mark.parametrize(("frozen", "trained"), [("rho", "mean"), ("mean", "rho")])
def test_a_trained_half_gets_its_gradient_while_the_other_is_frozen(
    frozen: str, trained: str
) -> None:
    member = parameter()
    getattr(member, frozen).requires_grad_(False)
    (expected,) = torch.autograd.grad(member.total_kl(), getattr(member, trained))
    add_kl_gradient([member])
    assert getattr(member, frozen).grad is None
    torch.testing.assert_close(getattr(member, trained).grad, expected)


# Shared variances


def test_within_the_block_a_variance_is_computed_once() -> None:
    member = parameter()
    with shared_variances():
        assert member.var.data_ptr() == member.var.data_ptr()


def test_within_the_block_several_losses_can_be_differentiated_one_after_the_other() -> None:
    member = parameter()
    with shared_variances():
        for _ in range(2):
            (gradient,) = torch.autograd.grad(member.var.sum(), member.rho)
            torch.testing.assert_close(gradient, torch.sigmoid(member.rho.detach()))


def test_outside_the_block_a_variance_follows_its_parameter() -> None:
    member = parameter()
    with shared_variances():
        before = member.var.detach().clone()
    with torch.no_grad():
        member.rho.add_(1.0)
    assert (member.var > before).all()


def test_a_new_block_starts_afresh() -> None:
    member = parameter()
    with shared_variances():
        before = member.var
    with shared_variances():
        assert member.var is not before


def test_shared_variances_are_the_variances() -> None:
    member = parameter()
    expected = member.var
    with shared_variances():
        assert torch.equal(member.var, expected)


def test_members_do_not_share_with_each_other() -> None:
    first, second = parameter(-2.0), parameter(-4.0)
    with shared_variances():
        assert (first.var > second.var).all()


def test_a_variance_first_read_without_gradients_still_has_one_afterwards() -> None:
    member = parameter()
    with shared_variances():
        with torch.no_grad():
            member.var.sum()
        assert member.var.requires_grad


@pytest.mark.parametrize("tau", [1e-2, torch.linspace(0, 1, 36, dtype=torch.float64)])
def test_a_step_with_shared_variances_has_the_gradients_of_the_whole_loss(
    tau: float | Tensor,
) -> None:
    model, nll = network(), ExpectedSoftmax()
    x, y = torch.randn(7, 5, dtype=torch.float64), torch.randint(3, (7,))
    loss = nll(model(x), y) + total_kl(gaussian_parameters(model), tau)
    expected = torch.autograd.grad(loss, list(model.parameters()))
    with shared_variances():
        nll(model(x), y).backward()
        add_kl_gradient(gaussian_parameters(model), tau)
    torch.testing.assert_close([p.grad for p in model.parameters()], list(expected))


def test_total_kl_within_the_block_has_the_same_gradients() -> None:
    model, nll = network(), ExpectedSoftmax()
    x, y = torch.randn(7, 5, dtype=torch.float64), torch.randint(3, (7,))

    def gradients() -> tuple[Tensor, ...]:
        loss = nll(model(x), y) + total_kl(gaussian_parameters(model), 0.1)
        return torch.autograd.grad(loss, list(model.parameters()))

    expected = gradients()
    with shared_variances():
        torch.testing.assert_close(gradients(), expected)
