"""Batch norms that do not leak, under every registered method."""

import pytest
import torch
from torch import Tensor, nn

from mpnet.continual import run
from mpnet.layers.gated import Gate
from mpnet.layers.moment import shared_variances
from mpnet.methods import METHODS
from mpnet.methods.hat import HardAttention
from mpnet.methods.si import SynapticIntelligence
from mpnet.metrics import bwt
from mpnet.networks import Network
from mpnet.networks._norm import TaskTrunk
from mpnet.training import Group, batch_nll
from tests.mpnet.conftest import digits_run, trained


def shares_its_trunk(name: str) -> bool:
    """Whether tasks have one trunk, so that a norm in it concerns all of them."""
    return not isinstance(trained(digits_run(name), 0).network.trunk, TaskTrunk)


every_method = pytest.mark.parametrize("name", list(filter(shares_its_trunk, METHODS)))
both_kinds = pytest.mark.parametrize("kind", ["frozen", "per_task"])
HOLDS_ALL = {"name": "lra", "alpha_max": 0, "alpha_min": 0}
LONGER = {"epochs": 6, "batch_size": 30, "warmup_steps": 2, "learning_rate": 0.03}


def with_norms(kind: object, *, hidden: int = 8) -> dict[str, object]:
    """The block of a small network."""
    return {"name": "mlp", "hidden": [hidden], "batch_norm": kind}


def norm_of(network: Network, t: int) -> list[Tensor]:
    """Statistics, scale and shift at place `t`."""
    state = network.trunk.state_dict()
    found = [value.clone() for key, value in state.items() if f".norms.{t}." in key]
    assert len(found) == 5
    return found


def are_equal(some: list[Tensor], others: list[Tensor]) -> bool:
    """Bit for bit."""
    return all(torch.equal(a, b) for a, b in zip(some, others, strict=True))


# Every method


@every_method
def test_a_frozen_norm_learns_in_the_first_task_and_never_again(name: str) -> None:
    config = digits_run(name, network=with_norms("frozen"))
    new, first, third = (norm_of(trained(config, n).network, 0) for n in (0, 1, 3))
    assert not any(torch.equal(a, b) for a, b in zip(new, first, strict=True))
    assert are_equal(first, third)


@every_method
def test_norms_of_tasks_move_only_while_their_data_are_trained_on(name: str) -> None:
    config = digits_run(name, network=with_norms("per_task"))
    first, second = trained(config, 1), trained(config, 2)
    start = norm_of(first.network, 0)
    assert all(are_equal(start, norm_of(first.network, later)) for later in (1, 2, 3, 4))
    has_stayed = are_equal(start, norm_of(second.network, 0))
    assert has_stayed == (0 not in second.training_tasks(1))
    newest = norm_of(second.network, 1)
    assert all(are_equal(newest, norm_of(second.network, later)) for later in (2, 3, 4))


@every_method
@both_kinds
def test_the_optimiser_holds_no_norm_but_those_in_training(name: str, kind: str) -> None:
    method = trained(digits_run(name, network=with_norms(kind)), 1)
    method.network.begin_task(1)
    method.begin_task(1)
    tasks = method.training_tasks(1) if kind == "per_task" else []
    own = {id(p) for i in tasks for p in method.network.task_parameters(i)}
    norms = [m for m in method.network.trunk.modules() if isinstance(m, nn.ModuleList)]
    inside = {id(p) for norm in norms for p in norm.parameters()}
    held = {id(p) for p in method.trained_parameters(1)}
    assert held & inside <= own


# A trunk that is held altogether


@both_kinds
@pytest.mark.parametrize("variance", ["natural", "adam"])
def test_where_every_gaussian_weight_rests_nothing_is_forgotten(kind: str, variance: str) -> None:
    method = {**HOLDS_ALL, "variance": variance}
    R = run(digits_run(method=method, network=with_norms(kind), training=LONGER)).R
    assert bwt(R) == 0
    assert (R[-1] == R.diagonal()).all()


def test_a_norm_that_all_tasks_share_forgets_though_every_gaussian_weight_rests() -> None:
    config = digits_run(method=HOLDS_ALL, network=with_norms(True), training=LONGER)
    assert bwt(run(config).R) < -0.02


@both_kinds
def test_old_tasks_are_answered_as_before_to_the_last_bit(kind: str) -> None:
    config = digits_run(method=HOLDS_ALL, network=with_norms(kind), training=LONGER)
    x = torch.randn(50, 1, 8, 8)
    first, third = (trained(config, n).network.eval()(x, 0) for n in (1, 3))
    torch.testing.assert_close(third, first, rtol=0, atol=0)


def test_a_task_trains_a_norm_of_its_own_where_every_gaussian_weight_rests() -> None:
    config = digits_run(method=HOLDS_ALL, network=with_norms("per_task"))
    network = trained(config, 2).network
    pairs = zip(norm_of(network, 0), norm_of(network, 1), strict=True)
    assert not any(torch.equal(a, b) for a, b in pairs)


# Single methods


@both_kinds
@pytest.mark.parametrize("name", ["ewc", "si", "mas"])
def test_springs_hold_affine_layers_and_no_norm_of_single_tasks(name: str, kind: str) -> None:
    method = trained(digits_run(name, network=with_norms(kind)), 2)
    n_affine = 64 * 8 + 8
    assert isinstance(method.importance, Tensor)
    assert method.importance.shape == (n_affine,)
    before = method.penalty(2)
    with torch.no_grad():
        for layer in method.network.trunk.modules():
            if isinstance(layer, nn.BatchNorm1d):
                layer.weight.add_(1.0)
    assert torch.equal(method.penalty(2), before)


def test_the_springs_of_a_shared_norm_are_still_there() -> None:
    method = trained(digits_run("si", network=with_norms(True)), 1)
    assert isinstance(method, SynapticIntelligence)
    assert method.importance.shape == (64 * 8 + 8 + 2 * 8,)


@both_kinds
def test_hat_masks_what_tasks_share_and_no_norm_of_single_tasks(kind: str) -> None:
    method = trained(digits_run("hat", network=with_norms(kind)), 1)
    assert isinstance(method, HardAttention)
    assert sum(isinstance(m, Gate) for m in method.network.shared_modules()) == 1
    own = set(map(id, method.embeddings))
    scaled = [id(p) for p, _ in method.update_scales(1, 0.1)]
    assert [p for p in scaled if p not in own] == [
        id(p) for p in method.network.trunk_parameters()
    ]


# Joint training


def mixed_batch(*sizes: int) -> list[Group]:
    """Random images of as many tasks, each task's around another mean."""
    return [
        Group(t, torch.randn(n, 1, 8, 8) + t, torch.arange(n) % 2) for t, n in enumerate(sizes)
    ]


def test_in_joint_training_every_task_tracks_its_own_examples() -> None:
    network = trained(digits_run("plain_jt", network=with_norms("per_task")), 0).network.train()
    batch = mixed_batch(20, 30, 25)
    batch_nll(network, batch)
    for t, images, _ in batch:
        expected = 0.1 * network.trunk[1](images.flatten(1)).mean(0)
        torch.testing.assert_close(network.trunk[2].norms[t].running_mean, expected)


@pytest.mark.parametrize("name", ["jt", "plain_jt"])
@pytest.mark.parametrize("kind", [True, "frozen", "per_task"])
def test_the_gradient_of_a_mixed_batch_is_that_of_its_tasks_one_by_one(
    name: str, kind: object
) -> None:
    network = trained(digits_run(name, network=with_norms(kind)), 1).network
    network.begin_task(1)
    network.train(kind == "per_task")  # the others see all tasks together in training
    batch = mixed_batch(6, 1, 5)
    network.zero_grad()
    for t, images, labels in batch:
        nll = network.layers.nll(network(images, t), labels)
        (nll * len(labels) / 12).backward()
    expected = [p.grad for p in network.parameters()]
    network.zero_grad()
    with shared_variances():
        batch_nll(network, batch).backward()
    for parameter, gradient in zip(network.parameters(), expected, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        if gradient is not None:
            torch.testing.assert_close(parameter.grad, gradient)
