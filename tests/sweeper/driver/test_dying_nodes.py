"""Sweeps on several nodes: what dies, what joins, what a node lacks."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from ray.cluster_utils import Cluster

from tests.sweeper.clusters import cluster
from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree

pytestmark = pytest.mark.slow


def runs_of(command: Command) -> list[Run]:
    """The trials in MLflow."""
    client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("small")
    assert experiment is not None
    return list(client.search_runs([experiment.experiment_id], "tags.`sweeper.role` = 'trial'"))


def saved_steps(command: Command) -> dict[str, int]:
    """How far each running trial has saved, by key."""
    found: dict[str, int] = {}
    for path in (command.folder / "trials" / "search").glob("*/checkpoint_*/trial.json"):
        try:
            step = json.loads(path.read_text())["latest"]["step"]
        except (OSError, ValueError):  # replaced by the next one meanwhile
            continue
        key = path.parts[-3].partition("-")[0]
        found[key] = max(found.get(key, 0), step)
    return found


def busy_node(command: Command, nodes: Cluster) -> Any:
    """A node, not the head, in the middle of a trial that has saved something; or None."""
    if not command.has_begun(2):
        return None
    others, saved = {node.node_id[:6]: node for node in nodes.worker_nodes}, saved_steps(command)
    for run in runs_of(command):
        place = others.get(run.data.tags["sweeper.node"].split()[-1])
        if place and run.info.status == "RUNNING" and key_of(run) in saved:
            return place
    return None


def key_of(run: Run) -> str:
    return run.data.tags["sweeper.key"].removeprefix("search-")


def test_trials_of_a_dead_node_go_on_elsewhere(tmp_path: Path) -> None:
    """Twelve trials on three nodes, of which one is killed in mid-trial."""
    with cluster(3) as nodes:
        command = Command(tmp_path, "sweep.trials=12", "run.epochs=40")
        process = command.start("--address", nodes.address)
        command.wait_for(lambda: busy_node(command, nodes) is not None)
        victim, saved = busy_node(command, nodes), saved_steps(command)
        nodes.remove_node(victim, allow_graceful=False)
        printed, _ = process.communicate(timeout=900)
    assert process.returncode == 0, printed
    assert Counter(trial.state for trial in command.trials()) == {"finished": 12}
    assert_ledger_and_mlflow_agree(command)
    moved = [run for run in runs_of(command) if "sweeper.resumed_at_step" in run.data.tags]
    assert moved, "the node must have been in the middle of a trial"
    for run in moved:
        assert int(run.data.tags["sweeper.resumed_at_step"]) >= saved.get(key_of(run), 0)
        assert not run.data.tags["sweeper.node"].endswith(victim.node_id[:6])


def test_a_node_that_joins_gets_work(tmp_path: Path) -> None:
    with cluster(1) as nodes:
        command = Command(tmp_path, "sweep.trials=8", "run.epochs=60")
        process = command.start("--address", nodes.address)
        command.wait_for(lambda: command.has_begun(0))
        joined = nodes.add_node(num_cpus=1)
        printed, _ = process.communicate(timeout=900)
    assert process.returncode == 0, printed
    assert len(command.finished()) == 8
    places = Counter(run.data.tags["sweeper.node"].split()[-1] for run in runs_of(command))
    assert places[joined.node_id[:6]] >= 1, places
    assert_ledger_and_mlflow_agree(command)


@contextmanager
def _small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own that is soon full."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk must be mounted, which takes root")
    try:
        yield disk
    finally:
        time.sleep(1)
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_storage_stops_the_sweep_and_space_lets_it_go_on(tmp_path: Path) -> None:
    with _small_disk(tmp_path, 2) as disk:
        command = Command(tmp_path, f"sweep.storage={disk}", "sweep.concurrency=1")
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 1_900_000)
        printed = command.run(code=130)
        assert "The storage is full; make space there, then go on." in printed
        assert "Traceback" not in printed
        assert "failed" not in {trial.state for trial in command.trials()}
        ballast.unlink()
        command.run("--resume")
        assert len(command.finished()) == 3
        assert_ledger_and_mlflow_agree(command)


def test_a_disk_that_is_full_with_all_of_a_sweep_on_it_loses_nothing(tmp_path: Path) -> None:
    with _small_disk(tmp_path, 48) as disk:
        command = Command(disk, "run.epochs=20")
        process = command.start()
        command.wait_for(lambda: command.has_begun(0))
        ballast = disk / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 1000)
        printed, _ = process.communicate(timeout=300)
        assert process.returncode in (130, 2), printed
        assert "No space left on device" in printed
        assert f"{command.folder} --resume" in printed
        assert "Traceback" not in printed
        assert "failed" not in {trial.state for trial in command.trials()}
        ballast.unlink()
        command.run("--resume")
        assert len(command.finished()) == 3
        assert_ledger_and_mlflow_agree(command)
