"""What dies while first tasks are trained or read: nothing is lost, nothing trained twice."""

from collections import Counter
from pathlib import Path

import pytest

from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree, is_alive, kill, workers

pytestmark = pytest.mark.slow

OVERRIDES = (
    "run.epochs=8",
    "sweep.sampler=grid",
    "sweep.trials=6",
    "space.method.tau_0={grid: [1e-6, 1e-5]}",
    "space.method.tau_max={grid: [1e-4, 1e-3, 1e-2]}",
    "sweep.keep_tasks=true",
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The same sweep without sharing: what all others must come to."""
    command = Command(tmp_path_factory.mktemp("alone"), *OVERRIDES, "sweep.share_tasks=false")
    command.run()
    return command


def n_first_tasks(command: Command) -> int:
    """Those that are on disk, whole."""
    return len(list((command.folder / "first_tasks").glob("*.pt")))


def assert_as_if_alone(command: Command, undisturbed: Command) -> None:
    """Every number as without sharing, every first task trained by one of them."""
    expected = {trial.key: trial.R for trial in undisturbed.finished()}
    assert {trial.key: trial.R for trial in command.finished()} == expected
    tests = {record.key: record.R for record in undisturbed.reruns()}
    assert {record.key: record.R for record in command.reruns()} == tests
    origins = [trial.first_tasks[0] for trial in command.finished()]
    trained = Counter(one["name"] for one in origins if not one["is_taken"])
    assert len({one["name"] for one in origins}) == 2
    assert set(trained.values()) <= {1}
    assert_ledger_and_mlflow_agree(command)


def test_sharing_changes_no_bit(tmp_path: Path, undisturbed: Command) -> None:
    command = Command(tmp_path, *OVERRIDES)
    printed = command.run()
    assert "6 trials, 2 first tasks" in printed
    assert "2 first tasks fed 6 trials: taken over 4 times" in printed
    assert_as_if_alone(command, undisturbed)


@pytest.mark.parametrize("n_there", [0, 1, 2])
def test_a_driver_killed_while_they_are_trained_or_read(
    tmp_path: Path, undisturbed: Command, n_there: int
) -> None:
    command = Command(tmp_path, *OVERRIDES)
    process = command.start()
    command.wait_for(lambda: command.has_begun(0) and n_first_tasks(command) >= n_there)
    orphans = workers(process.pid)
    kill(process.pid)
    process.communicate()
    command.wait_for(lambda: not any(map(is_alive, orphans)), seconds=60)
    command.run("--resume")
    assert_as_if_alone(command, undisturbed)


@pytest.mark.parametrize("n_there", [0, 2])
def test_a_worker_killed_while_they_are_trained_or_read(
    tmp_path: Path, undisturbed: Command, n_there: int
) -> None:
    command = Command(tmp_path, *OVERRIDES)
    process = command.start()
    command.wait_for(lambda: command.has_begun(0) and n_first_tasks(command) >= n_there)
    kill(workers(process.pid)[0])
    printed, _ = process.communicate(timeout=600)
    assert process.returncode == 0, printed
    assert_as_if_alone(command, undisturbed)


def test_a_broken_first_task_is_trained_again(tmp_path: Path, undisturbed: Command) -> None:
    command = Command(tmp_path, *OVERRIDES)
    process = command.start()
    command.wait_for(lambda: n_first_tasks(command) >= 1)
    kill(process.pid)
    process.communicate()
    for path in (command.folder / "first_tasks").glob("*.pt"):
        path.write_bytes(path.read_bytes()[:-1])
    command.run("--resume")
    expected = {trial.key: trial.R for trial in undisturbed.finished()}
    assert {trial.key: trial.R for trial in command.finished()} == expected
