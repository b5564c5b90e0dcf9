"""The maps from posteriors to learning rates and KL weights."""

import pytest
import torch
from torch import Tensor

from mpnet.importance import Accumulate, Map, Measure, Scale, kl_weights, learning_rates

VAR = torch.tensor([1e-6, 1e-3, 0.5, 1.0])
MEAN = torch.tensor([1.0, 0.1, 0.01, 0.001])
ALPHA, TAU = (1e-12, 1e-3), (1e-12, 1e-4)

every_measure = pytest.mark.parametrize("measure", ["var", "snr"])
every_scale = pytest.mark.parametrize("scale", ["linear", "log", "rank"])


def uncertainty(
    mean: Tensor, var: Tensor, measure: Measure, scale: Scale = "linear", guard: float = 0.0
) -> Tensor:
    """After a first task."""
    return Map(measure, scale, guard)(mean, var, torch.ones_like(var))


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


def test_the_log_scale_of_the_snr_is_linear_in_decibels() -> None:
    decibels = 20 * torch.log10(MEAN / VAR)
    expected = (decibels.max() - decibels) / (decibels.max() - decibels.min())
    torch.testing.assert_close(uncertainty(MEAN, VAR, "snr", "log"), expected)


def test_a_mean_of_exactly_zero_is_the_most_uncertain_and_finite() -> None:
    unsure = uncertainty(torch.tensor([0.0, 1.0, 2.0]), torch.ones(3), "snr", "log")
    assert unsure.isfinite().all()
    assert unsure.argmax() == 0


def test_the_linear_scale_protects_most_of_the_important_weights() -> None:
    generator = torch.Generator().manual_seed(0)
    important = 10 ** (-6 * torch.rand(5_000, generator=generator))
    var = torch.cat([torch.ones(95_000), important])
    alpha = learning_rates(uncertainty(torch.ones_like(var), var, "var"), *ALPHA)
    assert (alpha[95_000:] < ALPHA[1] / 10).double().mean() > 0.8
    assert (alpha[:95_000] == ALPHA[1]).all()


@pytest.mark.parametrize(("measure", "scale"), [("var", "linear"), ("var", "log"), ("snr", "log")])
def test_a_dozen_outliers_decide_about_all_others_unless_there_is_a_guard(
    measure: Measure, scale: Scale
) -> None:
    mean, var = torch.full((2_000,), 0.1), torch.linspace(1e-3, 1e-2, 2_000)
    mean[:6], var[-6:] = 1e-20, 1e10
    bare, guarded = (uncertainty(mean, var, measure, scale, guard) for guard in (0.0, 0.01))
    assert bare[10:-10].max() - bare[10:-10].min() < 0.15
    assert guarded[10:-10].max() - guarded[10:-10].min() > 0.9


def test_a_guard_lets_the_given_share_count_as_wholly_held_and_as_wholly_free() -> None:
    unsure = uncertainty(torch.ones(1000), torch.rand(1000), "var", "linear", 0.1)
    assert (unsure == 0).sum() == 101
    assert (unsure == 1).sum() == 101


@pytest.mark.parametrize(("control", "of"), [("uniform", "var"), ("uniform_snr", "snr")])
@every_scale
def test_the_uniform_control_gives_every_weight_the_mean(
    control: Measure, of: Measure, scale: Scale
) -> None:
    mean, var = torch.randn(500), torch.rand(500)
    real = uncertainty(mean, var, of, scale, 0.05)
    torch.testing.assert_close(
        uncertainty(mean, var, control, scale, 0.05), real.mean().expand_as(real)
    )


@pytest.mark.parametrize(("control", "of"), [("shuffled", "var"), ("shuffled_snr", "snr")])
def test_the_shuffled_control_gives_the_same_values_to_the_wrong_weights_by_seed(
    control: Measure, of: Measure
) -> None:
    mean, var = torch.randn(500), torch.rand(500)
    real = uncertainty(mean, var, of, "log")
    torch.manual_seed(1)
    shuffled = uncertainty(mean, var, control, "log")
    assert torch.equal(shuffled.sort().values, real.sort().values)
    assert torch.corrcoef(torch.stack([shuffled, real]))[0, 1].abs() < 0.2
    torch.manual_seed(1)
    assert torch.equal(uncertainty(mean, var, control, "log"), shuffled)


@pytest.mark.parametrize(
    ("accumulate", "expected"),
    [("last", [0.0, 0.5, 1.0]), ("max", [0.0, 0.2, 0.7]), ("product", [0.0, 0.1, 0.7])],
)
def test_importance_over_tasks(accumulate: Accumulate, expected: list[float]) -> None:
    before, var = torch.tensor([0.9, 0.2, 0.7]), torch.tensor([1.0, 2.0, 3.0])
    unsure = Map("var", "linear", 0.0, accumulate)(torch.ones(3), var, before)
    torch.testing.assert_close(unsure, torch.tensor(expected))
