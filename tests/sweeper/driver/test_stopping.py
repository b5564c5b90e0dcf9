"""Signals to a launch, from its first import to its last word: real processes."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree, descendants, is_alive

pytestmark = pytest.mark.slow

_GRACE = 10  # seconds that `docker stop` gives


def _ended(command: Command, process: "subprocess.Popen[str]", seconds: float) -> str:
    """What it printed, if it ends in time, with nothing of it left."""
    family = descendants(process.pid)
    printed, _ = process.communicate(timeout=seconds)
    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert "SIGTERM received" not in printed  # of Ray's own handler, with a native stack
    command.wait_for(lambda: not any(map(is_alive, family)), seconds=60)
    return printed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_stop_as_ctrl_c_does(tmp_path: Path, number: signal.Signals) -> None:
    command = Command(tmp_path, "run.epochs=100")
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    process.send_signal(number)
    printed = _ended(command, process, 2 * _GRACE)
    assert "Stopped with 3 trials to go; nothing is lost. Go on with:" in printed
    assert f"{command.folder} --resume" in printed
    assert_ledger_and_mlflow_agree(command)  # no run of MLflow is left running


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    command = Command(tmp_path, "run.epochs=100")
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    printed = _ended(command, process, _GRACE)
    assert "Stopped at once; nothing is lost. Go on with:" in printed
    assert f"{command.folder} --resume" in printed


@pytest.mark.parametrize("seconds", [0.2, 1, 2, 3, 4, 5])
def test_ctrl_c_while_a_sweep_starts_ends_it_quickly(tmp_path: Path, seconds: float) -> None:
    command = Command(tmp_path, "run.epochs=100")
    process = command.start()
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    family = descendants(process.pid)
    printed, _ = process.communicate(timeout=_GRACE)
    assert process.returncode in (130, -signal.SIGINT), printed
    assert "Traceback" not in printed
    assert not command.folder.exists() or "Stopped" in printed
    command.wait_for(lambda: not any(map(is_alive, family)), seconds=20)


def test_nohup_is_heeded(tmp_path: Path) -> None:
    command = Command(tmp_path, "run.epochs=1")
    process = command.start(ignored=signal.SIGHUP)
    command.wait_for(lambda: command.has_begun(0))
    process.send_signal(signal.SIGHUP)
    printed, _ = process.communicate(timeout=600)
    assert process.returncode == 0, printed
