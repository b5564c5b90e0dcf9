"""A storm of kills over a queue of two sweeps, which must end like one that nobody disturbed.

By hand, `./run pytest -m storm -n 0 -s`: STORM_SEED repeats one, STORM_KILLS has fewer or more.
"""

import json
import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from random import Random

import pytest

from sweeper.ledger import open_ledger
from tests.sweeper.servers import Server
from tests.sweeper.sweeps import (
    SMALL,
    Command,
    assert_ledger_and_mlflow_agree,
    descendants,
    is_alive,
    kill,
    workers,
)

pytestmark = pytest.mark.storm

_N_KILLS = int(os.environ.get("STORM_KILLS", "40"))
_SEED = int(os.environ.get("STORM_SEED", secrets.randbelow(10**6)))
_NAMES, _N_POINTS = ("a", "b"), 8
_PATIENCE = 1800.0  # seconds: for a machine that others use too
_KINDS = ("driver", "worker", "raylet", "gcs_server", "tracking", "pause")
_PAUSE = 30.0  # seconds of SIGSTOP


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where trials and Ray work, with a short name: of sockets that is required."""
    with tempfile.TemporaryDirectory(prefix="storm-", ignore_cleanup_errors=True) as name:
        for variable in ("TMPDIR", "RAY_TMPDIR"):
            monkeypatch.setenv(variable, name)
        yield Path(name)


def _queue(folder: Path, uri: str) -> Command:
    """Two sweeps on grids: what is tried does not depend on who died when."""
    folder.mkdir()
    files = folder / "queue"
    files.mkdir()
    for name, method in zip(_NAMES, ("ppbi", "lra"), strict=True):
        blocks = {
            "run": {**SMALL["run"], "method": {"name": method}, "epochs": 30},
            "space": {"method.tau_0": {"grid": [10.0**-n for n in range(3, 3 + _N_POINTS)]}},
            "sweep": {
                **{"sampler": "grid", "checkpoint_epochs": 1, "retries": 1000},
                "tracking_uri": uri,
            },
            "select": {"top": _N_POINTS, "seeds": 1},  # equals are told apart by their seconds
        }
        (files / f"{name}.yaml").write_text(json.dumps(blocks))
    command = Command(folder)
    command.file = files
    return command


def _part(command: Command, name: str) -> Command:
    """One of its sweeps."""
    part = copy(command)
    part.folder = command.folder / name
    return part


def _found(command: Command) -> dict[tuple[str, str, str], object]:
    """R and curves of all that there is, by sweep, split and key."""
    found: dict[tuple[str, str, str], object] = {}
    for name in _NAMES:
        ledger = open_ledger(command.folder / name)
        for record in (*ledger.trial_records(), *ledger.rerun_records()):
            assert record.state == "finished"
            assert (name, record.split, record.key) not in found, "done twice"
            found[name, record.split, record.key] = (record.R, list(record.curves))
    return found


class Storm:
    """Kills one after the other, and starts again what must be started again."""

    def __init__(self, command: Command, server: Server, random: Random) -> None:
        self.command, self.server, self.random = command, server, random
        self.family: set[int] = set()  # every process that a driver has ever had
        self.count = Counter[str]()
        self.n_starts = 0
        self.driver = self._started()

    def _started(self) -> "subprocess.Popen[str]":
        self.n_starts += 1
        return self.command.start(*(["--resume"] if self.n_starts > 1 else []))

    def strike(self) -> bool:
        """Wait until trials run, then kill something; False if there is nothing left to do."""
        if not self.is_at_work():
            return False
        time.sleep(self.random.uniform(0, 4))
        self.family |= set(descendants(self.driver.pid))
        kind = self.random.choice(_KINDS)
        self._kill(kind)
        self.count[kind] += 1
        print(f"{sum(self.count.values())}: {kind}", flush=True)
        return True

    def is_at_work(self) -> bool:
        """Whether a trial runs; drivers that a kill has ended are started again."""
        end = time.monotonic() + _PATIENCE
        while not workers(self.driver.pid):
            assert time.monotonic() < end, "no trial runs, and nothing is said"
            if self.driver.poll() is not None:
                printed, _ = self.driver.communicate()
                assert "Traceback" not in printed, printed
                if self.driver.returncode == 0:
                    return False
                self.driver = self._started()
            time.sleep(0.2)
        return True

    def _kill(self, kind: str) -> None:
        running = workers(self.driver.pid)
        if kind == "driver":
            kill(self.driver.pid)
        elif kind == "tracking":
            self.server.stop()
            time.sleep(self.random.uniform(0, 4))
            self.server.start()
        elif kind in ("raylet", "gcs_server"):
            for pid in self.family & set(descendants(self.driver.pid)):
                if _program(pid) == kind:
                    kill(pid)
        elif running:
            victim = self.random.choice(running)
            if kind == "worker":
                kill(victim)
            else:
                os.kill(victim, signal.SIGSTOP)
                time.sleep(_PAUSE)
                if is_alive(victim):
                    os.kill(victim, signal.SIGCONT)


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


def test_a_storm_of_kills_changes_nothing(tmp_path: Path, place: Path, server: Server) -> None:
    print(f"\nSTORM_SEED={_SEED} STORM_KILLS={_N_KILLS}", flush=True)
    whole = _queue(tmp_path / "whole", f"sqlite:///{tmp_path}/whole.db")
    whole.run()
    torn = _queue(tmp_path / "torn", server.uri)
    storm = Storm(torn, server, Random(_SEED))
    for _ in range(_N_KILLS):
        assert storm.strike(), f"all was done after {sum(storm.count.values())} kills; more points"
    while storm.is_at_work():
        storm.family |= set(descendants(storm.driver.pid))
        time.sleep(1)
    print(f"{sum(storm.count.values())} kills, {storm.n_starts} starts: {dict(storm.count)}")
    torn.run("--resume")  # MLflow gets what it has missed
    assert _found(torn) == _found(whole)
    assert len(_found(torn)) == len(_NAMES) * 2 * _N_POINTS
    for name in _NAMES:
        assert_ledger_and_mlflow_agree(_part(torn, name), server.uri, name)
    torn.wait_for(lambda: not any(map(is_alive, storm.family)), seconds=120)
    assert not list(place.glob("mpnet-trial-*"))
