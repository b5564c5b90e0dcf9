"""A trunk that rests: a head trained on features that are known ends as one behind the trunk."""

from pathlib import Path
from typing import Any

import pytest
import torch

from mpnet import features
from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig
from mpnet.continual import run
from mpnet.features import Course, course
from mpnet.methods import METHODS, Method
from mpnet.methods._freezing import FrozenTrunk
from mpnet.networks import Network
from mpnet.training import TaskTrainer
from tests.mpnet.conftest import digits_run

FREEZING = [name for name in METHODS if issubclass(METHODS[name], FrozenTrunk)]
NETWORKS: list[dict[str, Any]] = [
    {"name": "mlp", "hidden": [16]},
    {"name": "mlp", "hidden": [33, 16], "batch_norm": True, "dropout": 0.2},
    {"name": "mlp", "hidden": [16], "batch_norm": "per_task"},
]
every_freezing_method = pytest.mark.parametrize("name", FREEZING)


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Several threads sum small products in another order: equal but for rounding."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _through_the_trunk(method: Method, stream: Any, t: int) -> Course:
    return Course(stream, method.network)


def _end(config: RunConfig, folder: Path) -> dict[str, Any]:
    """Weights, random numbers and R of a run, and how each epoch went."""
    curves: list[Any] = []
    checkpoints = Checkpoints(folder)
    R = run(config, checkpoints=checkpoints, on_epoch_end=curves.append).R
    state = torch.load(checkpoints.path, weights_only=True)
    kept = {**state["method"], "rng": state["rng"], "generator": state["generator"]}
    return {**kept, "R": torch.from_numpy(R).nan_to_num(-1), "curves": torch.tensor(curves)}


@every_freezing_method
@pytest.mark.parametrize("network", NETWORKS, ids=str)
def test_features_that_are_computed_once_change_no_bit(
    name: str, network: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = digits_run(name, network=network)
    once = _end(config, tmp_path / "once")
    monkeypatch.setattr("mpnet.training.course", _through_the_trunk)
    always = _end(config, tmp_path / "always")
    assert once.keys() == always.keys()
    assert [key for key in once if not torch.equal(once[key], always[key])] == []


@every_freezing_method
def test_images_go_through_a_resting_trunk_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = digits_run(name)
    stream = config.build_stream()
    method = config.build_method(stream)
    trainer = TaskTrainer(method, stream, 1, config.training)
    seen: list[int] = []
    original = Network.features
    monkeypatch.setattr(
        Network, "features", lambda self, x, t: seen.append(len(x)) or original(self, x, t)
    )
    for _ in range(config.training.epochs):
        trainer.train_epoch(torch.Generator().manual_seed(0))
    assert sum(seen) == len(stream[1].train) + len(stream[1].validation)


@pytest.mark.parametrize("name", list(METHODS))
def test_only_what_rests_is_known(name: str) -> None:
    config = digits_run(name)
    stream = config.build_stream()
    method = config.build_method(stream)
    for t, is_known in enumerate([False, name in FREEZING]):
        TaskTrainer(method, stream, t, config.training)
        assert (course(method, stream, t).network is not method.network) == is_known


@every_freezing_method
def test_augmented_images_are_never_the_same_so_they_go_through_the_trunk(name: str) -> None:
    config = digits_run(name)
    tasks = [features.replace(task, is_augmented=True) for task in config.build_stream()]
    stream = features.TaskStream(tuple(tasks))
    method = config.build_method(stream)
    TaskTrainer(method, stream, 1, config.training)
    assert course(method, stream, 1) == Course(stream, method.network)


def test_a_family_that_draws_at_random_has_no_features_to_keep() -> None:
    config = digits_run("bbb")
    method = config.build_method(config.build_stream())
    resting = FrozenTrunk(method.network)
    resting.begin_task(1)
    assert not resting.trunk_rests(1)
