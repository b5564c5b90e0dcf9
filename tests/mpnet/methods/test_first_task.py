"""Every registered method from a first task that was trained before, and what may be shared."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpnet import contract
from mpnet.continual import run
from mpnet.contract import NORMED
from mpnet.first_tasks import FirstTasks
from mpnet.methods import METHODS
from mpnet.methods._variational import VariationalMethod
from mpnet.training import EpochReport
from tests.mpnet.conftest import digits_run

every_method = pytest.mark.parametrize("name", list(METHODS))
KINDS = {name: vars(METHODS[name]).get("first_task") for name in METHODS}
LATER = [
    (name, option)
    for name in METHODS
    for option in sorted(vars(METHODS[name]).get("later_options", ()))
]


@every_method
def test_from_a_stored_first_task_equals_from_scratch_bit_for_bit(
    name: str, tmp_path: Path
) -> None:
    config = digits_run(name, network=NORMED)
    trains = contract.final_state(config, tmp_path / "trains", FirstTasks(tmp_path / "other"))
    assert contract.differing(trains, contract.final_state(config, tmp_path / "alone")) == []
    assert contract.shared_task_faults(config, config, tmp_path) == []


@pytest.mark.parametrize(
    ("trainer", "taker"),
    [(a, b) for a in METHODS for b in METHODS if a != b and KINDS[a] and KINDS[a] == KINDS[b]],
)
def test_methods_of_one_kind_share_their_first_task_bit_for_bit(
    trainer: str, taker: str, tmp_path: Path
) -> None:
    runs = [digits_run(name, network=NORMED) for name in (trainer, taker)]
    assert runs[0].first_task_identity() == runs[1].first_task_identity()
    assert contract.shared_task_faults(*runs, tmp_path) == []


@pytest.mark.parametrize(("name", "option"), LATER)
def test_an_option_for_later_does_not_change_a_bit_of_the_first_task(
    name: str, option: str
) -> None:
    assert contract.later_option_faults(digits_run(name, network=NORMED), option) == []


@every_method
def test_what_a_first_task_reads_makes_it_another(name: str) -> None:
    here = digits_run(name)
    changes: list[dict[str, Any]] = [
        {"seed": 1},
        {"network": {"name": "mlp", "hidden": [17]}},
        {"training": {"epochs": 3}},
        {"benchmark": {"name": "digits", "max_train_per_class": 20}},
        {"split": "test"},
    ]
    others = {digits_run(name, **change).first_task_identity() for change in changes}
    assert len(others) == len(changes)
    assert here.first_task_identity() not in others


def test_tau_0_makes_it_another() -> None:
    one, other = (
        digits_run("ppbi", method={"name": "ppbi", "tau_0": tau_0}) for tau_0 in (1e-7, 1e-6)
    )
    assert one.first_task_identity() != other.first_task_identity()


def test_a_method_that_declares_nothing_works_unshared(tmp_path: Path) -> None:
    class Undeclared(VariationalMethod):
        """Says nothing of its first task; what its parents say does not count."""

    class Heir(METHODS["lra"]):  # type: ignore[misc, valid-type]
        """Inherits a declaration, which does not count either."""

    for kind in (Undeclared, Heir):
        METHODS.register("undeclared")(kind)
        try:
            config = digits_run("undeclared")
            assert config.first_task_identity() is None
            assert np.isfinite(run(config, first_tasks=FirstTasks(tmp_path)).R[-1]).all()
        finally:
            del METHODS._members["undeclared"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty"])
def test_a_broken_first_task_is_trained_again(harm: str, tmp_path: Path) -> None:
    config = digits_run("lra")
    expected = run(config, first_tasks=FirstTasks(tmp_path)).R
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    half = len(whole) // 2
    flipped = whole[:half] + bytes([whole[half] ^ 1]) + whole[half + 1 :]
    file.write_bytes({"cut": whole[:half], "flipped": flipped, "empty": b""}[harm])
    again = FirstTasks(tmp_path)
    np.testing.assert_array_equal(run(config, first_tasks=again).R, expected)
    assert not again.is_taken
    assert FirstTasks(tmp_path).load("another") is None
    assert file.stat().st_size > half  # it is whole again


def test_the_epochs_of_a_shared_task_are_reported_all_the_same(tmp_path: Path) -> None:
    reports: list[list[EpochReport]] = [[], []]
    for seen in reports:
        run(digits_run("lra"), on_epoch_end=seen.append, first_tasks=FirstTasks(tmp_path))
    assert reports[0] == reports[1]
