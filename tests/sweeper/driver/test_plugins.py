"""A method, a network and pictures from outside this project in a sweep on two nodes."""

import json
import os
from pathlib import Path

import pytest

from tests.mpnet.packages import METHOD, NETWORK, draw, write_module
from tests.sweeper.clusters import cluster
from tests.sweeper.sweeps import SMALL, Command

pytestmark = pytest.mark.slow


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """A sweep of what a package in `outside` registers."""
    write_module(tmp_path / "outside", "my_package.springs", METHOD.format(name="springs"))
    write_module(tmp_path / "outside", "my_package.narrow", NETWORK.format(name="narrow"))
    draw(tmp_path / "pets")
    run = {
        "benchmark": {"name": "image_folder", "folder": "pets", "size": 8, "n_tasks": 2},
        "data_root": str(tmp_path),
        "network": {"name": "narrow", "width": 12},
        "method": {"name": "springs"},
        "training": {"epochs": 2, "batch_size": 20},
    }
    blocks = {
        **SMALL,
        "plugins": ["my_package.springs", "my_package.narrow"],
        "run": run,
        "space": {"method.strength": {"grid": [0.1, 1.0, 10.0]}},
    }
    made = Command(tmp_path)
    made.file.write_text(json.dumps(blocks))
    return made


def _look_in(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ["PYTHONPATH"]]))


def test_a_method_a_network_and_pictures_from_outside_run_on_two_nodes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    _look_in(monkeypatch, tmp_path / "outside")
    with cluster(2) as nodes:
        command.run("--address", nodes.address)
    assert len(command.finished()) == 3
    assert len(command.reruns()) == 2
    assert all(
        trial.run["plugins"] == ["my_package.springs", "my_package.narrow"]
        for trial in command.finished()
    )


def test_nodes_without_a_plugin_are_named_before_the_first_trial(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    with cluster(2) as nodes:
        _look_in(monkeypatch, tmp_path / "outside")  # the driver alone has it
        printed = command.run("--address", nodes.address, code=2)
    lines = [line for line in printed.splitlines() if line.startswith("node ")]
    assert len({line.split(": ")[0] for line in lines}) == 2, printed
    assert any("plugins: my_package.springs: must be a module" in line for line in lines), printed
    assert not (command.folder / "study.journal").exists()
