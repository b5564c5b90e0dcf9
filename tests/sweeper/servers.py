"""Servers as separate processes, and trials that write to them."""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from mlflow import MlflowClient

from sweeper.tracking import Tracking, open_sweep, run_ids


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """A command in a session of its own, whose output goes to a file."""

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]):
        self.command, self.folder = list(command), folder
        self.environment = {**os.environ, **environment}
        self.log = folder / f"{Path(command[0]).stem}.log"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """It, and what it has started; by force if it does not listen."""
        for signal_ in (how, signal.SIGKILL):
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal_)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(60)

    def wait_for(self, url: str) -> None:
        """Until it answers; a busy machine takes minutes to start one."""
        end = time.monotonic() + 600
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(url, timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                time.sleep(0.2)
        raise TimeoutError(url)


class Server(Process):
    """An `mlflow server` on its own port, with its own database."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.uri = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "mlflow", "server", "--workers", "1"]
        command += ["--backend-store-uri", f"sqlite:///{folder}/server.db"]
        command += ["--artifacts-destination", f"{folder}/artifacts"]
        command += ["--host", "127.0.0.1", "--port", str(port)]
        super().__init__(command, folder, {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"})

    def start(self) -> None:
        super().start()
        self.wait_for(f"{self.uri}/health")


def opened(uri: str, folder: Path) -> Tracking:
    """A sweep in MLflow."""
    return open_sweep(uri, "digits", "s1", "sweep", folder / "outbox", {}, {}, {"a.txt": "a"})


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


def trial_process(sweep: Tracking, patience: float, *keys: str) -> "subprocess.Popen[str]":
    """Trials that log 40 steps each."""
    command = [sys.executable, "-c", TRIAL, pickle.dumps(sweep).hex(), str(patience), *keys]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def assert_eight_processes_log_all(sweep: Tracking) -> None:
    """Three trials each at the same time: no error, no loss."""
    names = [[f"{process}-{trial}" for trial in range(3)] for process in range(8)]
    processes = [trial_process(sweep, 600, *keys) for keys in names]
    errors = [process.communicate(timeout=1200)[1] for process in processes]
    assert "".join(errors) == ""
    assert sorted(run_ids(sweep)) == sorted(key for keys in names for key in keys)
    client = MlflowClient(sweep.uri)
    runs = client.search_runs([sweep.experiment_id], "tags.`sweeper.role` = 'trial'")
    assert len(runs) == 24
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert {len(client.get_metric_history(run.info.run_id, "m4")) for run in runs} == {40}
    assert not list(Path(sweep.outbox).glob("*"))
