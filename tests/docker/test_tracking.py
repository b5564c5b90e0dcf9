"""MLflow on PostgreSQL as the container runs it: who gets in, and how it stands a crowd."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper.commands.launch import main
from tests.docker.services import EXPERIMENTS, PASSWORD, status, tracking
from tests.sweeper.servers import assert_eight_processes_log_all, opened
from tests.sweeper.sweeps import ROOT, descendants

pytestmark = pytest.mark.slow
QUICKSTART = str(ROOT / "search_spaces" / "quickstart.yaml")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    with tracking(tmp_path_factory.mktemp("tracking")) as server:
        yield server


@pytest.fixture
def uri(server: tuple[str, dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> str:
    """Of the server, with its user and password in the environment."""
    for name, value in server[1].items():
        monkeypatch.setenv(name, value)
    return server[0]


def test_nobody_gets_in_without_a_password(uri: str) -> None:
    assert status(uri + EXPERIMENTS) == 401


@pytest.mark.parametrize("host", ["evil.example", "10.0.0.7", "192.168.1.1:5000"])
def test_a_foreign_host_name_is_refused(uri: str, host: str) -> None:
    assert status(uri + EXPERIMENTS, Host=host) == 403


def test_eight_processes_log_at_once(uri: str, tmp_path: Path) -> None:
    assert_eight_processes_log_all(opened(uri, tmp_path))


def test_a_busy_machine_does_not_end_its_processes(uri: str) -> None:
    processes = _serving()
    assert len(processes) == 2
    for how, seconds in ((signal.SIGSTOP, 12), (signal.SIGCONT, 3)):
        for pid in processes:
            os.kill(pid, how)
        time.sleep(seconds)
    assert status(f"{uri}/health") == 200
    assert _serving() == processes


def _serving() -> list[int]:
    """The processes of the server that answer requests."""
    family = descendants(os.getpid())
    return [p for p in family if "spawn_main" in Path(f"/proc/{p}/cmdline").read_text()]


@pytest.mark.parametrize("password", [None, "wrong"])
def test_a_sweep_that_may_not_log_does_not_start(
    uri: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    password: str | None,
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_PASSWORD")
    if password:
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", password)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert main([QUICKSTART, "--output", str(tmp_path / "out")]) == 2
    printed = capsys.readouterr().err
    assert "401" in printed
    assert "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD" in printed
    assert "Traceback" not in printed
    assert PASSWORD not in printed
    assert "wrong" not in printed
