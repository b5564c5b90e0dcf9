"""Every way to search, for real: schedulers, Pareto fronts, repeats, failures, budgets."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from sweeper.commands.report import main as report
from tests.sweeper.servers import Server
from tests.sweeper.sweeps import SMALL, Command, assert_ledger_and_mlflow_agree, kill

pytestmark = pytest.mark.slow


def test_two_objectives_and_repeats(tmp_path: Path) -> None:
    command = Command(
        tmp_path,
        "sweep.objective=[acc, bwt]",
        "sweep.sampler=nsga2",
        "sweep.repeats=2",
        "run.epochs=2",
    )
    command.run()
    assert [trial.seeds for trial in command.finished()] == [(0, 1)] * 3
    assert [trial.seeds for trial in command.reruns()] == [(2,), (3,)]
    trial = command.finished()[0]
    means = [sum(row for row in R[-1] if row is not None) / len(R) for R in trial.R]
    assert trial.metrics["acc"] == pytest.approx(sum(means) / 2)
    assert report([str(command.folder)]) == 0


@pytest.mark.parametrize("scheduler", ["asha", "median", "bound"])
def test_a_stopped_trial_cannot_win(tmp_path: Path, scheduler: str) -> None:
    good = [round(1e-3 * n, 4) for n in range(1, 11)]  # a bound compares with ten
    command = Command(
        tmp_path,
        f"sweep.scheduler={scheduler}",
        "sweep.trials=14",
        f"space.training.learning_rate={{grid: {[*good, 1e-6, 2e-6, 3e-6, 4e-6]}}}",
        "sweep.sampler=grid",
        "space.method.tau_max={grid: [1e-4]}",
        "sweep.concurrency=1",
        "select.at_least=1",
    )
    command.run()
    states = Counter(trial.state for trial in command.trials())
    assert states["stopped"] > 0
    assert states["finished"] + states["stopped"] == 14
    assert all(len(trial.R[0]) == 5 for trial in command.finished())
    winner = command.reruns()[0].rerun.configuration
    assert winner in {trial.number for trial in command.finished()}
    assert_ledger_and_mlflow_agree(command)


def test_a_diverging_trial_is_recorded_with_its_reason_and_stops_nothing(tmp_path: Path) -> None:
    command = Command(
        tmp_path,
        "space.training.learning_rate={grid: [1e-3, 1e30, 2e-3]}",
        "space.method.tau_max={grid: [1e-4]}",
        "sweep.sampler=grid",
    )
    printed = command.run()
    (failed,) = [trial for trial in command.trials() if trial.state == "failed"]
    assert failed.values["training.learning_rate"] == 1e30
    assert "the loss must stay finite" in (failed.reason or "")
    assert "failed" in printed
    assert len(command.finished()) == 2
    assert_ledger_and_mlflow_agree(command)


def test_a_trial_without_memory_is_recorded_with_its_reason_and_stops_nothing(
    tmp_path: Path,
) -> None:
    """Ten billion draws of each weight ask for terabytes."""
    command = Command(tmp_path, "sweep.retries=1", "sweep.sampler=grid")
    blocks = {
        "run": {**SMALL["run"], "layers": {"rho": -4}, "method": {"name": "bbb"}, "epochs": 1},
        "space": {"layers.samples": {"grid": [1, 10_000_000_000, 2]}},
    }
    command.file.write_text(json.dumps(blocks))
    command.run()
    (failed,) = [trial for trial in command.trials() if trial.state == "failed"]
    assert failed.values["layers.samples"] == 10_000_000_000
    assert "allocate" in (failed.reason or "")
    assert len(command.finished()) == 2
    assert_ledger_and_mlflow_agree(command)


EACH = (
    "space.method.name={choice: [lra, ppbi, ft]}",
    "space.method.measure={choice: [var, uniform], when: {method.name: [lra, ppbi]}}",
    "space.method.tau_max={grid: [1e-4], when: {method.name: ppbi}}",
    "sweep.sampler=grid",
    "sweep.trials=5",
    "select.each=[method.name, method.measure]",
    "run.epochs=1",
)


def test_a_sweep_killed_in_its_reruns_compares_all_groups_in_the_end(tmp_path: Path) -> None:
    command = Command(tmp_path, *EACH)
    command.file.write_text(json.dumps({**SMALL, "space": {}}))  # conditions go by the order
    process = command.start()
    command.wait_for(lambda: (command.folder / "study.journal").exists())
    command.wait_for(lambda: len(command.reruns()) >= 2)
    kill(process.pid)
    process.communicate()
    before = {trial.key: trial for trial in command.reruns()}
    printed = command.run("--resume")
    after = {trial.key: trial for trial in command.reruns()}
    assert len(command.reruns()) == len(after) == 5 * 2
    assert {key: after[key] for key in before} == before
    assert sorted(trial.rerun.seed for trial in after.values()) == [1] * 5 + [2] * 5
    assert "Differences on the test sets, seed by seed" in printed
    assert (command.folder / "differences.svg").exists()
    assert "This sweep is finished; nothing was changed." in command.run()
    assert_ledger_and_mlflow_agree(command)


def test_no_improvement_ends_a_sweep(tmp_path: Path) -> None:
    command = Command(tmp_path, "sweep.trials=50", "sweep.patience=2", "run.epochs=1")
    command.run()
    assert 3 <= len(command.finished()) < 50


def test_out_of_time_the_best_so_far_are_selected_and_more_time_goes_on(tmp_path: Path) -> None:
    command = Command(tmp_path, "sweep.hours=0.006", "sweep.trials=20", "select.at_least=1")
    printed = command.run()
    assert "out of time" in printed
    assert len(command.reruns()) == 2
    assert len(command.finished()) < 20
    command.run("--resume", "sweep.hours=1")
    assert len(command.finished()) == 20
    assert_ledger_and_mlflow_agree(command)


def test_one_at_a_time_the_same_seed_gives_the_same_sweep(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        command = Command(tmp_path / name, "sweep.concurrency=1", "sweep.sampler=tpe")
        command.run()
        found.append([(trial.values, trial.R) for trial in command.finished()])
    assert found[0] == found[1]


def test_a_tracking_server_that_is_away_for_a_minute_loses_nothing(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.start()
    try:
        command = Command(tmp_path, f"sweep.tracking_uri={server.uri}", "sweep.trials=6")
        process = command.start()
        command.wait_for(lambda: command.has_begun(1))
        server.stop()
        time.sleep(60)
        server.start()
        printed, _ = process.communicate(timeout=900)
        assert process.returncode == 0, printed
        assert len(command.finished()) == 6
        command.run("--resume")
        assert_ledger_and_mlflow_agree(command, server.uri)
    finally:
        server.stop()


def test_two_drivers_do_not_work_on_one_sweep(tmp_path: Path) -> None:
    command = Command(tmp_path)
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    assert "only one process may run a sweep" in command.run("--resume", code=2)
    assert "Trials, the best first" in command.run("--status")
    kill(process.pid)
    process.communicate()
