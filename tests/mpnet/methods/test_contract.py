"""What every registered method must do; a new method is tested by being registered."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from mpnet.checkpoint import Checkpoints
from mpnet.continual import Results, run
from mpnet.layers.moment import shared_variances
from mpnet.methods import METHODS, Method
from mpnet.training import EpochReport
from tests.mpnet.conftest import digits_run, trained

every_method = pytest.mark.parametrize("name", list(METHODS))


@every_method
def test_R_is_finite_on_and_below_the_diagonal_and_nan_above(name: str) -> None:
    R = run(digits_run(name)).R
    below = np.tril(np.ones_like(R, dtype=bool))
    assert np.isfinite(R[below]).all()
    assert ((R[below] >= 0) & (R[below] <= 1)).all()
    assert np.isnan(R[~below]).all()


@every_method
def test_same_seed_gives_the_same_R(name: str) -> None:
    config = digits_run(name, seed=3)
    _assert_equal(run(config), run(config))


@every_method
@pytest.mark.parametrize("head", [0, 1, 2])
def test_heads_move_exactly_when_their_data_are_trained_on(name: str, head: int) -> None:
    before, after = trained(digits_run(name), 1), trained(digits_run(name), 2)
    pairs = zip(
        before.network.head_parameters(head), after.network.head_parameters(head), strict=True
    )
    has_moved = not all(torch.equal(a, b) for a, b in pairs)
    assert has_moved == (head in after.training_tasks(1))


def _assert_equal(some: Results, others: Results) -> None:
    for name, matrix in some.matrices.items():
        np.testing.assert_array_equal(matrix, others.matrices[name])
    assert some.selectivity == others.selectivity


def _draw_and_backward(method: Method, t: int) -> None:
    """The likelihood's part of a training step, with the same draw wherever weights are drawn."""
    torch.manual_seed(0)
    method.train()
    output = method.network(torch.randn(2, 1, 8, 8), t)
    method.network.layers.nll(output, torch.tensor([0, 1])).backward()


@every_method
@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("closed", [True, False], ids=["own", "default"])
def test_penalty_gradient_in_a_training_step_equals_autograd(
    name: str, t: int, closed: bool
) -> None:
    method = trained(digits_run(name), t)
    method.begin_task(t)
    parameters = method.trained_parameters(t)
    _draw_and_backward(method, t)
    penalty = method.penalty(t)
    expected: Sequence[Tensor | None] = [None] * len(parameters)
    if penalty.requires_grad:
        expected = torch.autograd.grad(penalty, parameters, allow_unused=True)
    method.zero_grad()
    with shared_variances():  # as in a training step, after the backward pass of its loss
        _draw_and_backward(method, t)
        method.zero_grad()
        by_default = partial(Method.add_penalty_gradient, method)
        add_gradient = method.add_penalty_gradient if closed else by_default
        add_gradient(t)
    for parameter, gradient in zip(parameters, expected, strict=True):
        got = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        wanted = torch.zeros_like(parameter) if gradient is None else gradient
        rounding = 1e-12 + 2e-6 * float(wanted.abs().max())  # where summands of both signs cancel
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=rounding)


class _Killed(Exception):
    """Stands for a kill -9 between two epochs."""


@every_method
@pytest.mark.parametrize(
    ("batch_norm", "n_epochs"),
    [*((True, n) for n in (1, 2, 3, 5)), ("frozen", 3), ("per_task", 2), ("per_task", 3)],
)
def test_interrupted_and_resumed_equals_uninterrupted_bit_for_bit(
    name: str, batch_norm: object, n_epochs: int, tmp_path: Path
) -> None:
    network = {"name": "mlp", "hidden": [16], "batch_norm": batch_norm, "dropout": 0.2}
    training = {"epochs": 2, "batch_size": 100, "warmup_steps": 2, "learning_rate": 0.01}
    config = digits_run(name, network=network, training=training)
    whole, parts = (Checkpoints(tmp_path / part, every_epochs=1) for part in ("whole", "parts"))
    expected = run(config, checkpoints=whole)
    n_seen = 0

    def stop_after(report: EpochReport) -> None:
        nonlocal n_seen
        n_seen += 1
        if n_seen == n_epochs:
            raise _Killed

    with pytest.raises(_Killed):
        run(config, on_epoch_end=stop_after, checkpoints=parts)
    torch.rand(17)  # whatever the process did in the meantime
    _assert_equal(run(config, checkpoints=parts), expected)
    states = [torch.load(c.path, weights_only=True)["method"] for c in (whole, parts)]
    assert states[0].keys() == states[1].keys()
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


@every_method
@pytest.mark.parametrize("batch_norm", [True, "frozen", "per_task"])
def test_batches_of_any_size_can_be_trained_on(name: str, batch_norm: object) -> None:
    training = {"epochs": 1, "batch_size": 3, "warmup_steps": 0, "learning_rate": 1e-3}
    network = {"name": "mlp", "hidden": [4], "batch_norm": batch_norm}
    assert np.isfinite(run(digits_run(name, network=network, training=training)).R[-1]).all()
