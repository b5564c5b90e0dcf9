"""What dies in the middle of a sweep, and what is left of the sweep then: nothing missing."""

import signal
from pathlib import Path

import pytest

from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree, is_alive, kill, workers

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("n_finished", [0, 1, 2])
def test_a_killed_driver_is_resumed_without_loss_or_repetition(
    tmp_path: Path, n_finished: int
) -> None:
    command = Command(tmp_path)
    process = command.start()
    command.wait_for(lambda: command.has_begun(n_finished))
    before = {trial.number: trial for trial in command.finished()}
    orphans = workers(process.pid)
    kill(process.pid)
    process.communicate()
    command.wait_for(lambda: not any(map(is_alive, orphans)), seconds=60)
    command.run(code=2)  # not by mistake
    command.run("--resume")
    after = {trial.number: trial for trial in command.finished()}
    assert len({trial.key for trial in after.values()}) == len(after) == 3
    assert {number: after[number] for number in before} == before
    assert len(command.reruns()) == 2
    assert_ledger_and_mlflow_agree(command)


def test_a_killed_worker_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    command = Command(tmp_path)
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    kill(workers(process.pid)[0])
    printed, _ = process.communicate(timeout=600)
    assert process.returncode == 0, printed
    assert [trial.state for trial in command.trials()] == ["finished"] * 3
    assert_ledger_and_mlflow_agree(command)


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = Command(tmp_path)
    process = command.start()
    command.wait_for(lambda: command.has_begun(1))
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert "nothing is lost. Go on with:" in printed
    command.run("--resume")
    assert len(command.finished()) == 3
    assert_ledger_and_mlflow_agree(command)


def test_an_interrupted_sweep_ends_like_one_that_was_not(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = Command(tmp_path / "a", "sweep.concurrency=1")
    torn = Command(tmp_path / "b", "sweep.concurrency=1")
    whole.run()
    process = torn.start()
    torn.wait_for(lambda: torn.has_begun(0))
    kill(process.pid)
    process.communicate()
    torn.run("--resume")
    matrices = [{t.key: t.R for t in command.finished()} for command in (whole, torn)]
    first = whole.finished()[0].key  # the others are drawn anew by a seed that counts on
    assert matrices[0][first] == matrices[1][first]
