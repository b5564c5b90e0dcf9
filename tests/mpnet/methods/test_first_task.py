"""Every registered method from a first task that was trained before, and what may be shared."""

import typing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig
from mpnet.continual import run
from mpnet.first_tasks import FirstTasks
from mpnet.methods import METHODS
from mpnet.methods._variational import VariationalMethod
from mpnet.training import EpochReport
from tests.mpnet.conftest import digits_run

NETWORK = {"name": "mlp", "hidden": [16], "batch_norm": True, "dropout": 0.2}
every_method = pytest.mark.parametrize("name", list(METHODS))
KINDS = {name: vars(METHODS[name]).get("first_task") for name in METHODS}
LATER = [
    (name, option)
    for name in METHODS
    for option in sorted(vars(METHODS[name]).get("later_options", ()))
]


def _state(config: RunConfig, folder: Path, first_tasks: FirstTasks | None) -> dict[str, Any]:
    """What a run ends with: R, weights, what the method remembers, all random numbers."""
    checkpoints = Checkpoints(folder)
    R = run(config, checkpoints=checkpoints, first_tasks=first_tasks).R
    state = torch.load(checkpoints.path, weights_only=True)
    return {"R": torch.from_numpy(R), "generator": state["generator"], "rng": state["rng"]} | {
        f"method.{key}": value for key, value in state["method"].items()
    }


def _assert_same_bits(some: dict[str, Any], others: dict[str, Any]) -> None:
    assert some.keys() == others.keys()
    for key, value in some.items():
        np.testing.assert_array_equal(value.numpy(), others[key].numpy(), err_msg=key)


@every_method
def test_from_a_stored_first_task_equals_from_scratch_bit_for_bit(
    name: str, tmp_path: Path
) -> None:
    config, folder = digits_run(name, network=NETWORK), tmp_path / "first"
    expected = _state(config, tmp_path / "scratch", None)
    _assert_same_bits(_state(config, tmp_path / "trains", FirstTasks(folder)), expected)
    again = FirstTasks(folder)
    _assert_same_bits(_state(config, tmp_path / "takes", again), expected)
    assert again.is_taken and again.seconds > 0


@pytest.mark.parametrize(
    ("trainer", "taker"),
    [(a, b) for a in METHODS for b in METHODS if a != b and KINDS[a] and KINDS[a] == KINDS[b]],
)
def test_methods_of_one_kind_share_their_first_task_bit_for_bit(
    trainer: str, taker: str, tmp_path: Path
) -> None:
    run(digits_run(trainer, network=NETWORK), first_tasks=FirstTasks(tmp_path / "first"))
    config, taken = digits_run(taker, network=NETWORK), FirstTasks(tmp_path / "first")
    got = _state(config, tmp_path / "takes", taken)
    assert taken.is_taken
    _assert_same_bits(got, _state(config, tmp_path / "scratch", None))


@pytest.mark.parametrize(("name", "option"), LATER)
def test_an_option_for_later_does_not_change_a_bit_of_the_first_task(
    name: str, option: str
) -> None:
    states = []
    for value in _two_values(name, option):
        config = digits_run(name, method={"name": name, option: value}, network=NETWORK)
        first = _Memory()
        run(config, first_tasks=first)
        states.append((first.identity, first.state))
    (identity, one), (other_identity, other) = states
    assert identity == other_identity
    network = {k: v for k, v in one["method"].items() if k.startswith("network.")}
    _assert_same_bits(network, {k: other["method"][k] for k in network})
    assert one["curve"] == other["curve"]
    assert torch.equal(one["rng"], other["rng"])


class _Memory(FirstTasks):
    """Keeps what it is given, and has nothing to give."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.identity, self.state = "", dict[str, Any]()

    def load(self, identity: str) -> None:
        return None

    def save(self, identity: str, state: dict[str, Any]) -> None:
        self.identity, self.state = identity, state


def _two_values(name: str, option: str) -> list[Any]:
    """Two of the values that an option may have, the first its default."""
    method = METHODS[name]
    default = method.__init__.__kwdefaults__[option]  # type: ignore[misc]
    hint = typing.get_type_hints(method.__init__)[option]
    choices = [value for value in typing.get_args(hint) if isinstance(value, str)]
    if choices:
        return [default, next(value for value in choices if value != default)]
    return [default, 50 if default is None else default / 2]


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
