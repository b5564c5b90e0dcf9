"""A storm of kills over a queue of two sweeps, which must end like one that nobody disturbed.

By hand, `./run pytest -m storm -n 0 -s`: STORM_SEED repeats one, STORM_KILLS has fewer or more;
STORM_EPOCHS is the length of a trial: the faster the machine, the more it takes to be there until
the last kill. On a busy one, RAY_worker_niceness=0 lets trials have their share.
"""

import json
import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from getpass import getuser
from pathlib import Path
from random import Random

import pytest

from sweeper.errors import INTERRUPTED
from sweeper.ledger import open_ledger
from tests.sweeper.servers import Server
from tests.sweeper.sweeps import (
    SMALL,
    Command,
    assert_ledger_and_mlflow_agree,
    descendants,
    executable,
    kill,
    workers,
)

pytestmark = pytest.mark.storm

_N_KILLS = int(os.environ.get("STORM_KILLS", "40"))
_N_EPOCHS = int(os.environ.get("STORM_EPOCHS", "80"))
_SEED = int(os.environ.get("STORM_SEED", secrets.randbelow(10**6)))
_NAMES, _N_POINTS = ("a", "b"), 8
_PATIENCE = 3600.0  # seconds: for a machine that others use too
_VICTIMS = ("driver", "worker", "raylet", "gcs_server", "tracking")
_KINDS = (*_VICTIMS, "pause")
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
            "run": {**SMALL["run"], "method": {"name": method}, "epochs": _N_EPOCHS},
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
        self.kinds, self.pauses = _dealt(random, _KINDS), _dealt(random, _VICTIMS)
        self.count = Counter[str]()
        self.n_starts = 0
        self.driver = self._started()

    def _started(self) -> "subprocess.Popen[str]":
        self.n_starts += 1
        return self.command.start(*(["--resume"] if self.n_starts > 1 else []))

    def strike(self) -> None:
        """Wait until trials run, then hit something."""
        kind = next(self.kinds)
        victim = next(self.pauses) if kind == "pause" else kind
        while True:
            assert self.is_at_work(), f"all was done after {self.count.total()} kills; more points"
            time.sleep(self.random.uniform(0, 4))
            if pids := self._processes(victim):
                break
        if kind == "pause":
            self._pause(pids)
        else:
            self._kill(victim, pids)
        self.count[kind if kind == victim else f"{kind} {victim}"] += 1
        print(f"{self.count.total()}: {kind} {victim} {pids}", flush=True)

    def is_at_work(self) -> bool:
        """Whether a trial runs; drivers that a kill has ended are started again."""
        end = time.monotonic() + _PATIENCE
        while not workers(self.driver.pid):
            assert time.monotonic() < end, "no trial runs, and nothing is said"
            if self.driver.poll() is not None:
                if self._is_done():
                    return False
                self.driver = self._started()
            time.sleep(0.2)
        return True

    def _is_done(self) -> bool:
        """How the driver has ended: in order, with a word on how to go on, or by our hand."""
        printed, _ = self.driver.communicate()
        code, is_busy = self.driver.returncode, "Ray must start on this machine" in printed
        assert "Traceback" not in printed, printed
        assert code in (0, INTERRUPTED, -signal.SIGKILL) or is_busy, printed
        assert code != INTERRUPTED or "Go on with:" in printed, printed
        return code == 0

    def _processes(self, victim: str) -> list[int]:
        """Those that make up a victim, or one of many of its kind."""
        if victim == "driver":
            return [] if self.driver.poll() is not None else [self.driver.pid]
        if victim == "worker":
            running = workers(self.driver.pid)
            return [self.random.choice(running)] if running else []
        if victim == "tracking":
            pid = self.server.process.pid
            return [pid, *descendants(pid)]
        return [pid for pid in descendants(self.driver.pid) if executable(pid) == victim]

    def _kill(self, victim: str, pids: list[int]) -> None:
        if victim == "tracking":
            self.server.stop()
            time.sleep(self.random.uniform(0, 4))
            self.server.start()
            return
        for pid in pids:
            kill(pid)

    def _pause(self, pids: list[int]) -> None:
        """Stand still as a machine does that is suspended."""
        for how, seconds in ((signal.SIGSTOP, _PAUSE), (signal.SIGCONT, 0)):
            for pid in pids:
                with suppress(ProcessLookupError):  # Ray ends those that it gives up
                    os.kill(pid, how)
            time.sleep(seconds)


def _dealt(random: Random, cards: Sequence[str]) -> Iterator[str]:
    """All of them in a random order, again and again, so that none is left out."""
    while True:
        yield from random.sample(cards, len(cards))


def _alive(place: Path) -> list[str]:
    """Processes that were told to work there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"TMPDIR={place}\0".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


def _left(place: Path) -> list[Path]:
    """All that is there but an empty cache of PyTorch's: sessions of Ray, folders of trials."""
    left = {path.name for path in place.iterdir()} - {"ray", f"torchinductor_{getuser()}"}
    return [*map(Path, left), *(place / "ray").glob("session_*")]


def test_a_storm_of_kills_changes_nothing(tmp_path: Path, server: Server, place: Path) -> None:
    print(f"\nSTORM_SEED={_SEED} STORM_KILLS={_N_KILLS} STORM_EPOCHS={_N_EPOCHS}", flush=True)
    start = time.monotonic()
    whole = _queue(tmp_path / "whole", f"sqlite:///{tmp_path}/whole.db")
    whole.run(seconds=_PATIENCE)
    print(f"undisturbed: {time.monotonic() - start:.0f} s", flush=True)
    torn = _queue(tmp_path / "torn", server.uri)
    storm = Storm(torn, server, Random(_SEED))
    for _ in range(_N_KILLS):
        storm.strike()
    while storm.is_at_work():
        time.sleep(1)
    seconds = time.monotonic() - start
    print(f"{storm.n_starts} starts, {seconds:.0f} s in all: {dict(storm.count)}", flush=True)
    for kind in _KINDS:
        n_hit = sum(n for what, n in storm.count.items() if what.startswith(kind))
        assert n_hit >= _N_KILLS // len(_KINDS), kind
    torn.run("--resume")  # MLflow gets what it has missed
    assert _found(torn) == _found(whole)
    assert len(_found(torn)) == len(_NAMES) * 2 * _N_POINTS
    for name in _NAMES:
        assert_ledger_and_mlflow_agree(_part(torn, name), server.uri, name)
    torn.wait_for(lambda: not _alive(place), seconds=120)
    assert _left(place) == []
