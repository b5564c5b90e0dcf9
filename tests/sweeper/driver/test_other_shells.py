"""A sweep that runs in one shell, looked at and stopped from another; also on two nodes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sweeper.ledger.live import Live, read_live
from tests.sweeper.clusters import cluster
from tests.sweeper.sweeps import ROOT, Command

pytestmark = pytest.mark.slow
# Two at once, long enough to be looked at; enough for one to end by hand and two in a pause.
LONG = ("run.epochs=150", "sweep.trials=5", "sweep.concurrency=2", "select.seeds=1")


def typed(*words: str, code: int = 0) -> str:
    """What `sweeper` says in another shell."""
    command = [sys.executable, "-m", "sweeper", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    return " ".join((done.stdout + done.stderr).split())


class Other:
    """Another shell, in which somebody has gone to the folder of a sweep."""

    def __init__(self, command: Command) -> None:
        self.command, self.folder = command, str(command.folder)

    def live(self) -> Live | None:
        return read_live(self.command.folder)

    def wait_for_a_running_trial(self) -> str:
        """Until one has trained an epoch; gives its number."""
        self.command.wait_for(lambda: bool(self._trained()))
        return self._trained()[0]

    def _trained(self) -> list[str]:
        live = self.live()
        return [one.name.split()[-1] for one in live.running if one.place] if live else []


@contextmanager
def running(command: Command, *options: str) -> Iterator["subprocess.Popen[str]"]:
    process = command.start(*options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def assert_it_is_stopped_and_goes_on(command: Command, *options: str) -> None:
    """Status, a trial that stops by hand, pause, resume and stop, then another start."""
    other = Other(command)
    with running(command, *options) as process:
        number = other.wait_for_a_running_trial()
        shown = typed("status", other.folder)
        assert "small: running (" in shown and "task " in shown and "% so far" in shown
        assert " running " in typed("list", str(command.folder.parent))
        assert f"trial {number} " in typed("stop", other.folder, "--trial", number)
        assert typed("pause", other.folder).startswith("Paused: nothing new starts")
        command.wait_for(lambda: (live := other.live()) is not None and not live.running)
        assert process.poll() is None
        assert typed("resume", other.folder) == "It goes on."
        other.wait_for_a_running_trial()
        assert process.poll() is None
        assert typed("stop", other.folder).startswith("Stopping, as by Ctrl-C")
        printed, _ = process.communicate(timeout=300)
    assert process.returncode == 130, printed
    assert "nothing is lost. Go on with:" in printed and "Traceback" not in printed
    assert "none does; --resume goes on with it" in typed("stop", other.folder, code=2)
    by_hand = next(t for t in command.trials() if t.number == int(number))
    assert by_hand.state == "stopped" and (by_hand.reason or "").startswith("stopped by hand")
    command.run(*options, "--resume")
    assert len(command.finished()) == 4
    assert "none does; it is finished" in typed("stop", other.folder, code=2)
    assert "small: finished" in typed("status", other.folder)
    again = command.run(*options)
    assert "This sweep is finished; nothing was changed. Another --output starts anew" in again


def test_a_sweep_is_watched_paused_and_stopped_from_another_shell(tmp_path: Path) -> None:
    command = Command(tmp_path, *LONG)
    assert_it_is_stopped_and_goes_on(command)


def test_the_same_on_two_nodes(tmp_path: Path) -> None:
    with cluster(2) as nodes:
        command = Command(tmp_path, *LONG)
        assert_it_is_stopped_and_goes_on(command, "--address", nodes.address)
