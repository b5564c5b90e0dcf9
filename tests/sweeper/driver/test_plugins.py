"""A method, networks and pictures from outside this project in a sweep on two nodes."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from mlflow import MlflowClient

from tests.mpnet.packages import IMPORTED, METHOD, NETWORK, draw, write_module
from tests.sweeper.clusters import cluster
from tests.sweeper.sweeps import SMALL, Command

pytestmark = pytest.mark.slow
PLUGINS = ["my_package.springs", "my_package.narrow"]
SHALLOW = "my_package.nets:shallow"  # by its import path alone


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A sweep of what a package in `outside` holds: it registers some, and has pictures too."""
    outside = tmp_path / "outside"
    write_module(outside, "my_package.springs", METHOD.format(name="springs"))
    write_module(outside, "my_package.narrow", NETWORK.format(name="narrow"))
    write_module(outside, "my_package.nets", IMPORTED)
    draw(outside / "my_package" / "pets")
    run = {
        "benchmark": {"name": "image_folder", "folder": "pets", "size": 8, "n_tasks": 2},
        "data_root": str(outside / "my_package"),
        "network": {"name": "narrow", "width": 12},
        "method": {"name": "springs"},
        "training": {"epochs": 2, "batch_size": 20},
    }
    space = {
        "method.name": {"grid": ["springs", "ppbi"]},  # plain layers and moments
        "network.name": {"grid": ["narrow", SHALLOW]},
        "training.learning_rate": {"grid": [1e-3, 1e-2]},
    }
    sweep = {"sampler": "grid"}
    blocks = {**SMALL, "plugins": PLUGINS, "run": run, "space": space, "sweep": sweep}
    made = Command(tmp_path)
    made.file.write_text(json.dumps(blocks))
    return made


def _look_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), before]))


def _nodes(command: Command) -> Counter[str]:
    """How many trials of the search each node has trained."""
    client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
    found = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(found, "tags.`sweeper.key` LIKE 'search-%'")
    return Counter(run.data.tags["sweeper.node"].split()[-1] for run in runs)


def test_a_method_networks_and_pictures_from_outside_run_on_two_nodes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _look_in(monkeypatch, tmp_path / "outside")
    with cluster(2) as nodes:
        command.run("--address", nodes.address)
        names = {node.node_id[:6] for node in (nodes.head_node, *nodes.worker_nodes)}
    trained = command.finished()
    pairs = Counter((t.values["method.name"], t.values["network.name"]) for t in trained)
    assert pairs == {(m, n): 2 for m in ("springs", "ppbi") for n in ("narrow", SHALLOW)}
    assert all(trial.run["plugins"] == PLUGINS for trial in trained)
    assert len(command.reruns()) == 2
    places = _nodes(command)
    assert set(places) == names and places.total() == 8, places


def _use_the_network_alone(command: Command) -> None:
    """Nothing of the package but a network by its import path."""
    blocks = json.loads(command.file.read_text())
    run = {**blocks["run"], "network": {"name": SHALLOW}, "method": {"name": "ppbi"}}
    space = {"training.learning_rate": {"grid": [1e-3, 1e-2]}}
    kept = {key: block for key, block in blocks.items() if key != "plugins"}
    command.file.write_text(json.dumps({**kept, "run": run, "space": space}))


def test_nodes_without_a_plugin_or_a_network_are_named_before_the_first_trial(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cluster(2) as nodes:
        _look_in(monkeypatch, tmp_path / "outside")  # the driver alone has it
        without_plugins = command.run("--address", nodes.address, code=2)
        _use_the_network_alone(command)
        without_network = command.run("--address", nodes.address, code=2)
    for printed, what in (
        (without_plugins, "plugins: my_package.springs: must be a module"),
        (without_network, f"run.network.name: {SHALLOW}: must be package.module:callable"),
    ):
        named = {line.split(": ")[0] for line in printed.splitlines() if what in line}
        assert len(named) == 2 and all(name.startswith("node ") for name in named), printed
    assert not (command.folder / "study.journal").exists()
