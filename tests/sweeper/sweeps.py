"""Sweeps as a person runs them: the real command in a process of its own, and what it left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from mlflow import MlflowClient

from sweeper.ledger import Ledger
from sweeper.results.records import Record, RerunRecord, TrialRecord

ROOT = Path(__file__).parents[2]
SMALL = {
    "run": {
        "benchmark": {"name": "digits"},
        "network": {"name": "mlp", "hidden": [40]},
        "layers": {"rho": -12},
        "method": {"name": "ppbi"},
        "training": {"epochs": 6, "batch_size": 50, "warmup_steps": 5},
    },
    "space": {"method.tau_max": {"log_uniform": [1e-6, 1e-2]}},
    "sweep": {"sampler": "random", "trials": 3, "checkpoint_epochs": 1},
    "select": {"top": 1, "seeds": 2},
}


class Command:
    """`python -m sweeper.launch` on a small sweep, started again and again."""

    def __init__(self, folder: Path, *overrides: str) -> None:
        self.folder, self.overrides = folder / "sweep", overrides
        self.file = folder / "small.yaml"
        self.file.write_text(json.dumps(SMALL))  # JSON is YAML

    def start(
        self, *options: str, ignored: signal.Signals | None = None
    ) -> "subprocess.Popen[str]":
        """In the background, with a terminal's handling of signals but of one that is ignored."""

        def handle_signals() -> None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if ignored is not None:
                signal.signal(ignored, signal.SIG_IGN)

        command = [sys.executable, "-m", "sweeper.launch", str(self.file), *self.overrides]
        return subprocess.Popen(
            [*command, "--output", str(self.folder), *options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=handle_signals,
        )

    def run(self, *options: str, code: int = 0, seconds: float = 900.0) -> str:
        """To its end; gives what it printed."""
        process = self.start(*options)
        printed, _ = process.communicate(timeout=seconds)
        assert process.returncode == code, printed
        return printed

    # What it left

    def trials(self) -> list[TrialRecord]:
        """Those of the search, by the ledger."""
        return Ledger(self.folder).trial_records()

    def finished(self) -> list[TrialRecord]:
        """Those of the search that came to an end."""
        return [trial for trial in self.trials() if trial.state == "finished"]

    def reruns(self) -> list[RerunRecord]:
        """Those on the test sets that came to an end."""
        records = Ledger(self.folder).rerun_records()
        return [record for record in records if record.state == "finished"]

    def wait_for(self, is_so: Callable[[], bool], seconds: float = 300.0) -> None:
        """Until something can be seen."""
        end = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.1)

    def n_saved(self) -> int:
        """States that trials have saved and that are still there."""
        saved = (self.folder / "trials" / "search").glob("*/checkpoint_*/trial.json")
        return len(list(saved))

    def has_begun(self, n_finished: int) -> bool:
        """Whether so many trials are done and another one has saved something."""
        if not (self.folder / "study.journal").exists() or not self.n_saved():
            return False
        return len(self.finished()) >= n_finished


def assert_ledger_and_mlflow_agree(
    command: Command, uri: str | None = None, name: str = "small"
) -> None:
    """Each finished trial once in both, with the same numbers and every point of its curve."""
    client = MlflowClient(uri or f"sqlite:///{command.folder}/mlflow.db")
    experiment = client.get_experiment_by_name(name)
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    by_key = {run.data.tags["sweeper.key"]: run for run in runs}
    assert len(by_key) == len(runs), "two runs of one trial"
    assert not [run.info.run_name for run in runs if run.info.status == "RUNNING"]
    stages: list[tuple[str, str, list[Record]]] = [
        ("search", "val", [*command.finished()]),
        ("test", "test", [*command.reruns()]),
    ]
    for stage, prefix, records in stages:
        assert max(Counter(record.key for record in records).values(), default=1) == 1
        for record in records:
            run = by_key[f"{stage}-{record.key}"]
            assert run.info.status == "FINISHED"
            assert run.data.metrics[f"{prefix}/acc"] == record.metrics["acc"]
            steps = [m.step for m in client.get_metric_history(run.info.run_id, "epoch/loss")]
            assert sorted(steps) == [step for step, *_ in record.curves[0]]


def kill(pid: int) -> None:
    """As a power cut would."""
    os.kill(pid, signal.SIGKILL)


def workers(driver: int) -> list[int]:
    """Processes in which the trials of a driver run."""
    return descendants(driver, "ray::Implicit")


def descendants(driver: int, name: str = "") -> list[int]:
    """Processes that a driver has started, and those that they have, whose name begins so."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, *_ in rows}
    found = [int(pid) for pid, _, *command in rows if command and command[0].startswith(name)]
    return [pid for pid in found if driver in _ancestors(pid, parents)]


def _ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    found = []
    while pid := parents.get(pid, 0):
        found.append(pid)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process is there, and not only its shell."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


def executable(pid: int) -> str:
    """The name of the file that a process runs; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""
