"""Real servers and real processes: stopped, killed, restarted, silent."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from mlflow import MlflowClient

from sweeper.tracking import RunLog, Tracking, deliver_outbox, open_sweep, run_ids

pytestmark = pytest.mark.slow


class Server:
    """An `mlflow server` on its own port, with its own database."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        self._folder = folder

    def start(self) -> "Server":
        store = f"sqlite:///{self._folder}/server.db"
        command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", store]
        command += ["--artifacts-destination", f"{self._folder}/artifacts", "--workers", "1"]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait()
        return self

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, how)
        self._process.wait(30)

    def _wait(self) -> None:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=5).close()
                return
            except OSError:
                assert self._process.poll() is None, "the server has ended"
                time.sleep(0.2)
        raise TimeoutError(self.uri)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path).start()
    yield server
    server.stop()


def opened(uri: str, folder: Path) -> Tracking:
    return open_sweep(uri, "digits", "s1", "sweep", folder / "outbox", {}, {}, {"a.txt": "a"})


def steps(sweep: Tracking) -> list[int]:
    [run_id] = run_ids(sweep).values()
    return sorted(p.step for p in MlflowClient(sweep.uri).get_metric_history(run_id, "loss"))


def the_status(sweep: Tracking) -> str:
    [run_id] = run_ids(sweep).values()
    return str(MlflowClient(sweep.uri).get_run(run_id).info.status)


@pytest.mark.parametrize(("how", "seconds"), [(signal.SIGTERM, 60), (signal.SIGKILL, 5)])
def test_a_server_may_stop_and_come_back(
    server: Server, tmp_path: Path, how: signal.Signals, seconds: float
) -> None:
    sweep = opened(server.uri, tmp_path)
    log, longest, step = RunLog(sweep, "a", "a", {"lr": 0.1}, {}), 0.0, 0
    stop_at = time.monotonic() + 8
    start_at, end_at = stop_at + seconds, stop_at + seconds + 20
    is_stopped = is_back = False
    while time.monotonic() < end_at:
        if not is_stopped and time.monotonic() > stop_at:
            server.stop(how)
            is_stopped = True
        if not is_back and time.monotonic() > start_at:
            server.start()
            is_back = True
        begin = time.monotonic()
        log.metrics({"loss": 1.0 / (step + 1)}, step)
        log.artifact("step.txt", str(step))
        longest, step = max(longest, time.monotonic() - begin), step + 1
        time.sleep(0.05)
    log.close("FINISHED", patience=60)
    assert steps(sweep) == list(range(step))
    assert the_status(sweep) == "FINISHED"
    assert not list(Path(sweep.outbox).glob("*"))
    assert longest < 1.0, "the trial was kept waiting"
    [run_id] = run_ids(sweep).values()
    file = MlflowClient(sweep.uri).download_artifacts(run_id, "step.txt", str(tmp_path))
    assert Path(file).read_text() == str(step - 1)


def test_a_server_away_at_the_end_gets_the_run_later(server: Server, tmp_path: Path) -> None:
    sweep = opened(server.uri, tmp_path)
    log = RunLog(sweep, "a", "a", {}, {})
    log.metrics({"loss": 1.0}, 0)
    while log.pending():
        time.sleep(0.1)
    server.stop()
    log.metrics({"loss": 0.5}, 1)
    begin = time.monotonic()
    log.close("FINISHED", patience=3)
    assert time.monotonic() - begin < 5
    assert deliver_outbox(sweep) == 1
    server.start()
    assert deliver_outbox(sweep) == 0
    assert steps(sweep) == [0, 1]
    assert the_status(sweep) == "FINISHED"


TRIAL = """
import pickle, sys, time
from sweeper.tracking import RunLog
sweep, keys, patience = pickle.loads(bytes.fromhex(sys.argv[1])), sys.argv[3:], float(sys.argv[2])
for key in keys:
    log = RunLog(sweep, key, key, {"lr": 0.1}, {})
    for step in range(40):
        log.metrics({f"m{i}": step + i for i in range(5)}, step)
        time.sleep(0.02)
    log.artifact("R.json", "[]")
    log.close("FINISHED", patience=patience)
"""


def trial_process(sweep: Tracking, patience: float, *keys: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", TRIAL, pickle.dumps(sweep).hex(), str(patience), *keys]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_eight_processes_share_one_database(tmp_path: Path) -> None:
    sweep = opened(f"sqlite:///{tmp_path}/mlflow.db", tmp_path)
    names = [[f"{process}-{trial}" for trial in range(3)] for process in range(8)]
    processes = [trial_process(sweep, 600, *keys) for keys in names]
    errors = [process.communicate(timeout=1200)[1] for process in processes]
    assert "".join(errors) == ""
    ids = run_ids(sweep)
    assert sorted(ids) == sorted(key for keys in names for key in keys)
    client = MlflowClient(sweep.uri)
    runs = client.search_runs([sweep.experiment_id], "tags.`sweeper.role` = 'trial'")
    assert len(runs) == 24
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert {len(client.get_metric_history(run.info.run_id, "m4")) for run in runs} == {40}
    assert not list(Path(sweep.outbox).glob("*"))


def test_a_process_ends_though_nobody_answers(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        sweep = Tracking(uri, "1", "parent", "s1", str(tmp_path / "outbox"))
        begin = time.monotonic()
        process = trial_process(sweep, 0.5, "a", "b")
        errors = process.communicate(timeout=60)[1]
    assert (process.returncode, errors) == (0, "")
    assert len(list(Path(sweep.outbox).glob("*.json"))) == 2
    assert time.monotonic() - begin < 30
