"""What dies or falls silent while a queue runs: noticed, said, and nothing lost."""

import json
import os
import signal
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sweeper.driver.watching import RayWatch, Silence
from sweeper.ledger.live import read_live
from tests.sweeper.clusters import cluster
from tests.sweeper.hooks import program, told_to_program
from tests.sweeper.sweeps import (
    Command,
    assert_ledger_and_mlflow_agree,
    descendants,
    executable,
    kill,
    workers,
)

# Doors


def test_a_door_that_is_shut_is_told_with_its_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        watch = RayWatch([("the head", "127.0.0.1", port)])
        assert watch.loss() == ""
    found = f"Ray has died: the head must answer at 127.0.0.1:{port}, but does not."
    assert watch.loss() == found


def test_a_door_that_never_answered_is_not_watched() -> None:
    assert RayWatch([("the head", "127.0.0.1", 9)]).loss() == ""


# Trials


class Clock:
    """Time that passes when told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def _trial(name: str, is_finished: bool = False) -> Any:
    return SimpleNamespace(trial_id=name, is_finished=lambda: is_finished)


def test_a_silent_trial_is_told_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, silence = Clock(monkeypatch), Silence(lambda trial: 60.0)
    a, b, over = _trial("a"), _trial("b"), _trial("over", is_finished=True)
    silence.hear(a)
    assert silence.broken([a, b, over]) == []
    clock.now += 50
    silence.hear(a)
    clock.now += 20
    assert silence.broken([a, b, over]) == [b]
    clock.now += 50
    assert silence.broken([a, b, over]) == [a]
    clock.now += 20
    assert silence.broken([a, b, over]) == [b]


# Real processes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raylet", "its process on this machine (raylet)"),
        ("gcs_server", "the head of its"),
    ],
)
def test_a_dead_ray_is_noticed_and_said_and_nothing_is_lost(
    tmp_path: Path, name: str, words: str
) -> None:
    command = Command(tmp_path, "run.epochs=60", "sweep.retries=0")
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    (victim,) = [pid for pid in descendants(process.pid) if executable(pid) == name]
    kill(victim)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130, printed
    assert f"Ray has died: {words}" in printed
    assert "nothing is lost. Go on with:" in printed
    assert "Traceback" not in printed
    assert {trial.state for trial in command.trials()} == {"running"}  # nobody's fault
    assert read_live(command.folder) is None  # nobody works on it, and it is said
    assert_ledger_and_mlflow_agree(command)
    command.run("--resume")
    assert len(command.finished()) == 3
    assert_ledger_and_mlflow_agree(command)


@pytest.mark.slow
def test_the_loss_of_a_cluster_s_head_is_noticed_and_said(tmp_path: Path) -> None:
    with cluster(1) as nodes:
        command = Command(tmp_path, "run.epochs=100")
        address = nodes.address  # which a cluster without a head does not know any more
        process = command.start("--address", address)
        command.wait_for(lambda: command.has_begun(0))
        nodes.head_node.kill_gcs_server()
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 130, printed
    assert f"(GCS) must answer at {address}, but does not." in printed
    assert "nothing is lost. Go on with:" in printed
    assert "Traceback" not in printed
    assert_ledger_and_mlflow_agree(command)


@pytest.mark.slow
def test_a_trial_without_a_sign_of_life_is_ended_and_tried_again(tmp_path: Path) -> None:
    words = json.dumps(program(tmp_path))
    notify = f"sweep.notify={{command: {words}, events: [silence]}}"
    command = Command(tmp_path, "sweep.silent_minutes=2", "sweep.concurrency=1", notify)
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    (victim,) = workers(process.pid)[:1]
    os.kill(victim, signal.SIGSTOP)
    printed, _ = process.communicate(timeout=900)
    assert process.returncode == 0, printed
    assert "no sign of life for 2 minutes (sweep.silent_minutes)" in printed
    assert "though Ray says RUNNING; it is ended." in printed
    assert [trial.state for trial in command.trials()] == ["finished"] * 3
    (told,) = told_to_program(tmp_path)
    assert told["event"] == "silence" and "no sign of life for 2 minutes" in told["reason"]
    assert_ledger_and_mlflow_agree(command)


@pytest.mark.slow
def test_a_ray_that_is_late_is_started_again(tmp_path: Path) -> None:
    """A raylet that does not run for half a minute is what a busy machine makes of it."""
    command = Command(tmp_path, "run.epochs=1")
    process = command.start()
    found: list[int] = []

    def has_started() -> bool:
        found[:] = [pid for pid in descendants(process.pid) if executable(pid) == "raylet"]
        return bool(found)

    command.wait_for(has_started)
    os.kill(found[0], signal.SIGSTOP)
    printed, _ = process.communicate(timeout=900)
    assert process.returncode == 0, printed
    assert "Ray has not started in time (The current node timed out during startup)" in printed
    assert "Trying again." in printed
    assert "Traceback" not in printed
    assert len(command.finished()) == 3
