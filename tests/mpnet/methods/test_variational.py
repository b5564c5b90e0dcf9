"""The paper's methods and the baselines: what each of them keeps from moving, and how."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mpnet import gaussian
from mpnet.checkpoint import Checkpoints
from mpnet.continual import run
from mpnet.errors import ConfigError
from mpnet.layers.moment import gaussian_parameters
from mpnet.methods._variational import VariationalMethod
from mpnet.methods.lra import LearningRateAdaptation
from mpnet.methods.ppbi import PerParameterBayesianInference
from mpnet.metrics import bwt
from mpnet.training import EpochReport
from tests.mpnet.conftest import digits_run, trained


@pytest.mark.parametrize("measure", ["var", "snr"])
def test_lra_gives_the_most_certain_weight_alpha_min_and_it_stays_where_it_is(
    measure: str,
) -> None:
    config = digits_run(method={"name": "lra", "measure": measure})
    first, second = trained(config, 1), trained(config, 2)
    assert isinstance(first, LearningRateAdaptation)
    most_certain = first.alpha.argmin()
    assert first.alpha[most_certain] == first.alpha_min
    (mean_before, var_before), (mean_after, var_after) = (
        method.trunk_posterior()  # type: ignore[attr-defined]
        for method in (first, second)
    )
    assert (mean_before - mean_after)[most_certain].abs() < 1e-9
    assert (var_before - var_after)[most_certain].abs() < 1e-9
    assert (mean_before - mean_after).abs().max() > 1e-3


def test_lra_keeps_the_standard_normal_prior() -> None:
    method = trained(digits_run("lra"), 2)
    for member in gaussian_parameters(method.network.trunk):
        assert (member.prior_mean == 0).all()
        assert (member.prior_var == 1).all()


@pytest.mark.parametrize("measure", ["var", "uniform"])
def test_ppbi_without_a_range_holds_all_weights_alike_against_the_last_posterior(
    measure: str,
) -> None:
    options = {"measure": measure, "tau_max": 1e-5, "tau_min": "tau_max"}
    method = trained(digits_run(method={"name": "ppbi", **options}), 1)
    assert isinstance(method, PerParameterBayesianInference)
    assert method.tau.unique().tolist() == [pytest.approx(1e-5)]
    for member in method.trunk():
        assert torch.equal(member.prior_mean, member.mean)


def test_ppbi_makes_the_posterior_the_prior_bit_for_bit_and_leaves_heads_alone() -> None:
    method = trained(digits_run("ppbi"), 1)
    assert isinstance(method, PerParameterBayesianInference)
    for member in gaussian_parameters(method.network.trunk):
        assert torch.equal(member.prior_mean, member.mean)
        assert torch.equal(member.prior_var, member.var)
    for member in gaussian_parameters(method.network.heads):
        assert (member.prior_mean == 0).all()
        assert (member.prior_var == 1).all()


def test_ppbi_gives_the_most_certain_weight_tau_max_and_the_least_tau_min() -> None:
    method = trained(digits_run(method={"name": "ppbi", "scale": "linear"}), 1)
    assert isinstance(method, PerParameterBayesianInference)
    _, var = method.trunk_posterior()
    assert method.tau[var.argmin()] == pytest.approx(method.tau_max)
    assert method.tau[var.argmax()] == pytest.approx(method.tau_min)


def test_a_heavy_kl_holds_the_trunk() -> None:
    def shift(tau_max: float) -> float:
        options = {"name": "ppbi", "scale": "rank", "tau_max": tau_max}
        first, second = (trained(digits_run(method=options), n) for n in (1, 2))
        means = [m.trunk_posterior()[0] for m in (first, second)]  # type: ignore[attr-defined]
        return float((means[0] - means[1]).abs().mean())

    assert shift(1e-1) < 0.5 * shift(1e-9)


@pytest.mark.parametrize("name", ["ff", "plain_ff"])
@pytest.mark.parametrize("batch_norm", [False, True, "frozen", "per_task"])
def test_feature_freezing_forgets_nothing_at_all(name: str, batch_norm: object) -> None:
    network = {"name": "mlp", "hidden": [16], "batch_norm": batch_norm}
    assert bwt(run(digits_run(name, network=network)).R) == 0


@pytest.mark.parametrize("name", ["jt", "plain_jt"])
def test_joint_training_trains_on_all_tasks_so_far(name: str) -> None:
    method = trained(digits_run(name), 0)
    assert list(method.training_tasks(2)) == [0, 1, 2]


VARIATIONAL = ["ft", "ff", "jt", "lra", "ppbi"]
every_variational = pytest.mark.parametrize("name", VARIATIONAL)


def _variances(name: str, n_tasks: int, **options: Any) -> Tensor:
    training = {"epochs": 8, "batch_size": 50, "learning_rate": 0.003, "warmup_steps": 2}
    method = trained(digits_run(method={"name": name, **options}, training=training), n_tasks)
    assert isinstance(method, VariationalMethod)
    return method.trunk_posterior()[1]


def _spread(var: Tensor) -> float:
    low, high = var.quantile(torch.tensor([0.05, 0.95])).tolist()
    return high / low


@every_variational
def test_natural_steps_tell_variances_apart_within_a_task_and_adam_does_not(name: str) -> None:
    assert _spread(_variances(name, 1, variance="natural", tau_0=1e-7)) > 10
    assert _spread(_variances(name, 1, variance="adam", tau_0=1e-7)) < 1.5


@every_variational
def test_the_rate_of_rho_is_its_own_under_adam(name: str) -> None:
    start = gaussian.variance(torch.tensor(-12.0))
    slow, fast = (
        (_variances(name, 1, variance="adam", rho_learning_rate=rate) / start).log().abs()
        for rate in (1e-6, 3e-1)
    )
    assert slow.max() < 2e-3
    assert fast.median() > 0.5


def test_lra_scales_the_variances_step_as_it_does_the_means() -> None:
    options = {"variance": "natural", "alpha_max": 0.0, "alpha_min": 0.0}
    assert torch.equal(_variances("lra", 1, **options), _variances("lra", 2, **options))


@pytest.mark.parametrize("measure", ["uniform", "shuffled", "uniform_snr", "shuffled_snr"])
@pytest.mark.parametrize("name", ["lra", "ppbi"])
def test_controls_train_like_any_other_measure(name: str, measure: str) -> None:
    config = digits_run(method={"name": name, "measure": measure})
    held = trained(config, 2).protection()
    assert held is not None
    assert (held.values.unique().numel() == 1) == measure.startswith("uniform")
    np.testing.assert_array_equal(run(config).R, run(config).R)


@every_variational
@pytest.mark.parametrize("variance", ["adam", "natural"])
def test_both_kinds_of_variances_resume_bit_for_bit(
    name: str, variance: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"name": name, "variance": variance}
    if name in ("lra", "ppbi"):
        options |= {"measure": "shuffled", "accumulate": "product"}
    config = digits_run(method=options)
    whole = run(config).R

    def stop_in_the_second_task(report: EpochReport) -> None:
        if (report.task, report.epoch) == (1, 0):
            raise KeyboardInterrupt

    checkpoints = Checkpoints(tmp_path, every_epochs=1)
    with pytest.raises(KeyboardInterrupt):
        run(config, on_epoch_end=stop_in_the_second_task, checkpoints=checkpoints)
    np.testing.assert_array_equal(run(config, checkpoints=checkpoints).R, whole)


def test_natural_variances_need_a_kl() -> None:
    with pytest.raises(ConfigError, match="tau_0 > 0 must hold, but got 0; use variance: adam"):
        trained(digits_run(method={"name": "ft", "tau_0": 0, "variance": "natural"}), 0)


@pytest.mark.parametrize("likelihood", ["expected_softmax", "tight_softmax", "gaussian"])
def test_natural_variances_stay_at_or_below_the_priors_under_every_likelihood(
    likelihood: str,
) -> None:
    training = {"epochs": 8, "batch_size": 50, "learning_rate": 0.01, "warmup_steps": 2}
    config = digits_run("ft", layers={"likelihood": likelihood}, training=training)
    method = trained(config, 2)
    assert isinstance(method, VariationalMethod)
    _, var = method.trunk_posterior()
    assert (var > 0).all()
    assert (var <= 1 + 1e-6).all()
