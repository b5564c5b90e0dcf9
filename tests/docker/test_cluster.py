"""What compose.yaml starts, without containers: a sweep on it, and what is kept from others."""

import os
import secrets
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError

import pytest
from mlflow import MlflowClient

from tests.docker.services import DOCKER, PASSWORD, Script, tracking
from tests.sweeper.servers import free_port
from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree

pytestmark = pytest.mark.slow


@dataclass
class Cluster:
    """Head, two workers and a tracking server.

    Args:
        told: variables of every container.
    """

    folder: Path
    uri: str
    dashboard: str
    told: dict[str, str]

    def launch(self, *arguments: object, **told: str) -> "subprocess.CompletedProcess[str]":
        """As `exec head docker/launch.sh` does."""
        script = Script("launch.sh", self.folder, {**self.told, **told})
        command = [*script.command, *map(str, arguments)]
        return subprocess.run(command, env=script.environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder, ports = tmp_path_factory.mktemp("cluster"), [str(free_port()) for _ in range(3)]
    address, dashboard = f"127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
    with ExitStack() as stack:
        uri, client = stack.enter_context(tracking(folder))
        place = stack.enter_context(short_folder())
        token = {"RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_HEAD": address}
        told = {**client, **token, "MLFLOW_TRACKING_URI": uri}
        own = {"RAY_PORT": ports[0], "DASHBOARD_PORT": ports[1]}
        options = (f"--temp-dir={place}", f"--ray-client-server-port={ports[2]}", "--num-cpus=0")
        head = stack.enter_context(running("head.sh", folder, {**told, **own}, *options))
        wait_until(lambda: is_well(head), head)
        for n_started in (1, 2):
            worker = stack.enter_context(running("worker.sh", folder, told, "--num-cpus=1"))
            wait_until(lambda n=n_started, w=worker: n_joined(w) == n, worker)  # type: ignore[misc]
        yield Cluster(folder, uri, dashboard, {**told, "RAY_ADDRESS": address})


def short_folder() -> "tempfile.TemporaryDirectory[str]":
    """The path of a socket has a hundred characters at the most."""
    return tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True)


@contextmanager
def running(name: str, folder: Path, told: dict[str, str], *options: str) -> Iterator[Script]:
    node = Script(name, folder, told, *options)
    node.start()
    try:
        yield node
    finally:
        node.stop(signal.SIGTERM)


def n_joined(worker: Script) -> int:
    return worker.log.read_text().count("Ray runtime started")


def wait_until(is_so: Callable[[], bool], node: Script) -> None:
    for _ in range(120):
        if is_so():
            return
        assert node.process.poll() is None, node.log.read_text()
        time.sleep(1)
    raise TimeoutError(node.log.read_text())


def is_well(node: Script) -> bool:
    return subprocess.run([DOCKER / "health.sh"], env=node.environment).returncode == 0


def test_a_sweep_runs_and_its_secrets_stay_secret(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = Command(tmp_path)
    done = cluster.launch(command.file, "--output", command.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(command.finished()) == 3
    assert len(command.reruns()) == 2
    for name, value in cluster.told.items():
        monkeypatch.setenv(name, value)
    assert_ledger_and_mlflow_agree(command, cluster.uri)
    secret = (PASSWORD, cluster.told["RAY_AUTH_TOKEN"])
    assert not [word for word in secret if word in done.stdout + done.stderr]
    assert not [word for word in secret if word in what_mlflow_has(cluster.uri)]
    folders = (command.folder, cluster.folder / "artifacts")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files for word in secret if word.encode() in path.read_bytes()]


def what_mlflow_has(uri: str) -> str:
    client = MlflowClient(uri)
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert len(runs) >= 6
    return "\n".join(str(run.to_dictionary()) for run in runs)


def test_a_driver_without_the_token_is_told_so(cluster: Cluster, tmp_path: Path) -> None:
    command = Command(tmp_path)
    done = cluster.launch(command.file, "--output", command.folder, RAY_AUTH_TOKEN="wrong")
    assert done.returncode == 2, done.stdout + done.stderr
    assert "RAY_AUTH_TOKEN" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (command.folder / "study.journal").exists()


def test_jobs_are_not_taken_from_strangers(cluster: Cluster) -> None:
    assert os.environ.get("RAY_AUTH_TOKEN") is None
    with pytest.raises(HTTPError) as refused:
        urllib.request.urlopen(f"{cluster.dashboard}/api/jobs/")
    refused.value.close()
    assert refused.value.code == 401
