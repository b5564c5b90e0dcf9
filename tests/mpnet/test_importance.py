"""The maps from posteriors to learning rates and KL weights."""

import pytest
import torch

from mpnet.importance import Measure, Scale, kl_weights, learning_rates, uncertainty

VAR = torch.tensor([1e-6, 1e-3, 0.5, 1.0])
MEAN = torch.tensor([1.0, 0.1, 0.01, 0.001])
ALPHA, TAU = (1e-12, 1e-3), (1e-12, 1e-4)

every_measure = pytest.mark.parametrize("measure", ["var", "snr"])
every_scale = pytest.mark.parametrize("scale", ["auto", "linear", "log", "rank"])


@every_measure
@every_scale
def test_the_most_certain_parameter_gets_the_lowest_rate_and_the_highest_weight(
    measure: Measure, scale: Scale
) -> None:
    unsure = uncertainty(MEAN, VAR, measure, scale)
    alpha, tau = learning_rates(unsure, *ALPHA), kl_weights(unsure, *TAU)
    torch.testing.assert_close(alpha[[0, 3]], torch.tensor(ALPHA), rtol=0, atol=0)
    torch.testing.assert_close(tau[[0, 3]], torch.tensor(TAU).flip(0), rtol=0, atol=0)
    assert (alpha.diff() >= 0).all()
    assert (tau.diff() <= 0).all()


@every_measure
@every_scale
def test_where_all_are_equally_certain_nothing_is_protected(
    measure: Measure, scale: Scale
) -> None:
    unsure = uncertainty(torch.ones(5), torch.ones(5), measure, scale)
    torch.testing.assert_close(learning_rates(unsure, *ALPHA), torch.full((5,), ALPHA[1]))
    torch.testing.assert_close(kl_weights(unsure, *TAU), torch.full((5,), TAU[0]))


def test_linear_in_the_variance_is_the_printed_equation_with_the_variance_for_iota() -> None:
    expected = (VAR - VAR.min()) * (ALPHA[1] - ALPHA[0]) / (VAR.max() - VAR.min()) + ALPHA[0]
    torch.testing.assert_close(learning_rates(uncertainty(MEAN, VAR, "var"), *ALPHA), expected)


def test_the_default_for_snr_is_linear_in_decibels() -> None:
    decibels = 20 * torch.log10(MEAN / VAR)
    expected = (decibels.max() - decibels) / (decibels.max() - decibels.min())
    torch.testing.assert_close(uncertainty(MEAN, VAR, "snr"), expected)


def test_a_mean_of_exactly_zero_is_the_most_uncertain_and_finite() -> None:
    unsure = uncertainty(torch.tensor([0.0, 1.0, 2.0]), torch.ones(3), "snr")
    assert unsure.isfinite().all()
    assert unsure.argmax() == 0


def test_the_default_protects_most_of_the_important_weights() -> None:
    generator = torch.Generator().manual_seed(0)
    important = 10 ** (-6 * torch.rand(5_000, generator=generator))
    var = torch.cat([torch.ones(95_000), important])
    alpha = learning_rates(uncertainty(torch.ones_like(var), var, "var"), *ALPHA)
    assert (alpha[95_000:] < ALPHA[1] / 10).double().mean() > 0.8
    assert (alpha[:95_000] == ALPHA[1]).all()
