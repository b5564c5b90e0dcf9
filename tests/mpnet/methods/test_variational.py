"""The paper's methods and the baselines: what each of them keeps from moving, and how."""

import pytest
import torch

from mpnet.continual import run
from mpnet.layers.moment import gaussian_parameters
from mpnet.methods.lra import LearningRateAdaptation
from mpnet.methods.ppbi import PerParameterBayesianInference
from mpnet.metrics import bwt
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
    method = trained(digits_run("ppbi"), 1)
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
