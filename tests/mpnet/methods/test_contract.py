"""What every registered method must do; a new method is tested by being registered."""

from pathlib import Path

import numpy as np
import pytest

from mpnet import contract
from mpnet.continual import run
from mpnet.methods import METHODS
from tests.mpnet.conftest import digits_run

PLATEAU = {"decay": "plateau", "plateau_epochs": 1, "learning_rate": 0.05}

every_method = pytest.mark.parametrize("name", list(METHODS))


@every_method
def test_R_is_finite_on_and_below_the_diagonal_and_nan_above(name: str) -> None:
    assert contract.accuracy_faults(digits_run(name)) == []


@every_method
def test_same_seed_gives_the_same_R(name: str) -> None:
    assert contract.seed_faults(digits_run(name, seed=3)) == []


@every_method
@pytest.mark.parametrize("head", [0, 1, 2])
def test_heads_move_exactly_when_their_data_are_trained_on(name: str, head: int) -> None:
    assert contract.head_faults(digits_run(name), [head]) == []


@every_method
@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("closed", [True, False], ids=["own", "default"])
def test_penalty_gradient_in_a_training_step_equals_autograd(
    name: str, t: int, closed: bool
) -> None:
    assert contract.penalty_faults(digits_run(name), t, closed) == []


@every_method
@pytest.mark.parametrize(
    ("batch_norm", "n_epochs"),
    [*((True, n) for n in (1, 2, 3, 5)), ("frozen", 3), ("per_task", 2), ("per_task", 3)],
)
def test_interrupted_and_resumed_equals_uninterrupted_bit_for_bit(
    name: str, batch_norm: object, n_epochs: int, tmp_path: Path
) -> None:
    config = digits_run(name, network={**contract.NORMED, "batch_norm": batch_norm})
    assert contract.resume_faults(config, n_epochs, tmp_path) == []


@every_method
@pytest.mark.parametrize("n_epochs", [2, 3, 7])
def test_a_lowered_rate_is_resumed_bit_for_bit(name: str, n_epochs: int, tmp_path: Path) -> None:
    training = {**PLATEAU, "epochs": 5, "batch_size": 100, "warmup_steps": 2}
    config = digits_run(name, network=contract.NORMED, training=training)
    assert contract.resume_faults(config, n_epochs, tmp_path) == []


@every_method
@pytest.mark.parametrize("batch_norm", [True, "frozen", "per_task"])
def test_batches_of_any_size_can_be_trained_on(name: str, batch_norm: object) -> None:
    training = {"epochs": 1, "batch_size": 3, "warmup_steps": 0, "learning_rate": 1e-3}
    network = {"name": "mlp", "hidden": [4], "batch_norm": batch_norm}
    assert np.isfinite(run(digits_run(name, network=network, training=training)).R[-1]).all()
