"""The command line, end to end on real digits."""

import re
import shutil
import sysconfig
from pathlib import Path

from mlflow import MlflowClient

from mpnet.config import parse_run
from sweeper.commands import analysis
from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree


def test_a_small_sweep_searches_selects_and_reports(tmp_path: Path) -> None:
    command = Command(tmp_path, "run.epochs=1", "sweep.trials=2", "select.class_orders=1")
    printed = command.run()
    assert "Plan of small" in printed
    assert "The best, on the test sets" in printed
    assert "The best on unseen class orders" in " ".join(printed.split())
    commands = re.findall(r"^(?:MLflow|Optuna): .*?(mlflow|optuna-dashboard) ", printed, re.M)
    scripts = sysconfig.get_path("scripts")
    assert [shutil.which(name, path=scripts) is not None for name in commands] == 4 * [True]
    assert (command.folder / "report.html").exists()
    assert len(command.finished()) == 2
    assert [again.rerun.class_order for again in command.reruns()].count(None) == 2
    assert len(command.reruns()) == 3
    assert_ledger_and_mlflow_agree(command)
    _assert_protection_is_told(command, printed)
    _assert_what_ran_is_recorded(command)
    journal = (command.folder / "study.journal").read_bytes()
    assert "This sweep is finished; nothing was changed." in command.run()
    assert (command.folder / "study.journal").read_bytes() == journal
    assert "must stay as it was started" in command.run("run.seed=5", "--resume", code=2)
    _assert_kept_runs_can_be_analysed(command)


def _assert_what_ran_is_recorded(command: Command) -> None:
    """The run as it was resolved, and what it ran with.

    A rerun is its trial but for split and seed, and for the class order if it has one.
    """
    trials = {trial.number: trial for trial in command.finished()}
    for record in (*trials.values(), *command.reruns()):
        assert parse_run(record.run).model_dump(mode="json") == record.run  # no default is missing
        assert (record.run["split"], record.run["device"]) == (record.split, "cpu")
        assert {"commit", "python", "torch", "machine"} <= record.versions.keys()
    for rerun in command.reruns():
        searched, order = trials[rerun.rerun.configuration].run, rerun.rerun.class_order
        changed = {"split": "test", "seed": rerun.rerun.seed}
        benchmark = {**searched["benchmark"], "class_order": order}
        assert rerun.run == {**searched, **changed, "benchmark": benchmark}


def _assert_protection_is_told(command: Command, printed: str) -> None:
    """After each task to MLflow and the ledger; at the end on the terminal and in the report."""
    client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    by_key = {run.data.tags["sweeper.key"]: run.info.run_id for run in runs}
    for record in command.reruns():
        (after,) = record.selectivity
        for name in ("held", "free", "selectivity", "freedom_q5", "freedom_q95"):
            found = client.get_metric_history(by_key[f"test-{record.key}"], f"test/{name}")
            by_step = {metric.step: metric.value for metric in found}
            assert [by_step[t + 1] for t in range(5)] == [one[name] for one in after]
        assert record.metrics["held"] == after[-1]["held"]
    assert "protects (test)" in printed
    assert "How selectively the best protect" in (command.folder / "report.md").read_text()


def _assert_kept_runs_can_be_analysed(command: Command) -> None:
    """The reruns alone are kept; a figure of one run is logged to it, one of all to the sweep."""
    assert analysis.main(["spread", str(command.folder)]) == 0
    assert analysis.main(["calibration", str(command.folder)]) == 0
    assert analysis.main(["calibration", str(command.folder), "--stage", "search"]) == 2
    client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("small")
    assert experiment is not None
    found = {
        run.data.tags["sweeper.role"]: {
            f.path for f in client.list_artifacts(run.info.run_id, "analysis")
        }
        for run in client.search_runs([experiment.experiment_id])
    }
    kinds = ("png", "svg", "csv")
    assert found["test"] == {f"analysis/spread.{kind}" for kind in kinds}
    assert found["parent"] == {f"analysis/calibration.{kind}" for kind in kinds}
    assert found["trial"] == set()
    assert_ledger_and_mlflow_agree(command)
