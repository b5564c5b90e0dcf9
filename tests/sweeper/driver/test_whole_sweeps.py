"""The command line, end to end on real digits."""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from mlflow import MlflowClient

from sweeper.commands import analysis
from sweeper.commands.launch import main
from sweeper.driver import launching
from sweeper.driver.preparation import Options
from tests.sweeper.sweeps import ROOT, SMALL, Command, assert_ledger_and_mlflow_agree


def test_a_small_sweep_searches_selects_and_reports(tmp_path: Path) -> None:
    command = Command(tmp_path, "run.epochs=1", "sweep.trials=2")
    printed = command.run()
    assert "Plan of small" in printed
    assert "The best, on the test sets" in printed
    commands = re.findall(r"^(?:MLflow|Optuna): .*?(mlflow|optuna-dashboard) ", printed, re.M)
    scripts = sysconfig.get_path("scripts")
    assert [shutil.which(name, path=scripts) is not None for name in commands] == [True, True]
    assert (command.folder / "report.html").exists()
    assert len(command.finished()) == 2
    assert len(command.reruns()) == 2
    assert_ledger_and_mlflow_agree(command)
    _assert_protection_is_told(command, printed)
    journal = (command.folder / "study.journal").read_bytes()
    assert "This sweep is finished; nothing was changed." in command.run()
    assert (command.folder / "study.journal").read_bytes() == journal
    assert "must stay as it was started" in command.run("run.seed=5", "--resume", code=2)
    _assert_kept_runs_can_be_analysed(command)


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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(json.dumps(SMALL))
    return path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["sweep.trails=3"], "did you mean 'trials'?"),
        (["run.method.name=ppbbi"], "did you mean 'ppbi'?"),
        (["run.method.tau_mx=1"], "did you mean 'tau_max'?"),
        (["run.benchmark.name=split_mnist"], "MNIST"),
        (["sweep.resources.gpu=3"], "one node must have 1 CPUs and 3 GPUs free"),
        (
            ["sweep.storage=/proc/nowhere"],
            "sweep.storage: /proc/nowhere: must be a place to write",
        ),
        (["sweep.tracking_uri=http://127.0.0.1:9"], "an MLflow store must answer"),
        (
            ["sweep.tracking_uri=http://me:hidden@127.0.0.1:9"],
            "http://127.0.0.1:9: must come without user and password; set MLFLOW_TRACKING",
        ),
        (["--address", "127.0.0.1:9"], "a Ray cluster must answer at 127.0.0.1:9, and take the"),
        (["--resume"], "there must be a sweep to go on with, but is none"),
        (["--status"], "must be the folder of a sweep"),
        (
            ["run.epochs=2", "space.training.epochs={grid: [1, 2]}"],
            "run.epochs must not stand beside it",
        ),
        (["run.split=test"], "a search may see validation data only"),
    ],
)
def test_a_fault_is_told_before_anything_starts(
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    code = main([str(file), "--output", str(tmp_path / "out"), *options])
    printed = capsys.readouterr()
    assert code == 2
    assert message in printed.err.replace("\n", " ")
    assert "Traceback" not in printed.err
    assert "hidden" not in printed.err
    assert not (tmp_path / "out" / "study.journal").exists()


def test_faults_of_all_kinds_are_told_at_once(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ["run.method.name=ppbbi", "sweep.resources.gpu=3", "sweep.storage=/proc/nowhere"]
    assert main([str(file), "--output", str(tmp_path / "out"), *wrong]) == 2
    printed = capsys.readouterr().err
    assert "ppbbi" in printed
    assert "3 GPUs" in printed
    assert "/proc/nowhere" in printed


def copied(home: Path, project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """launch.py as `ray submit` leaves it on a head node, and as it runs it there."""
    shutil.copy(ROOT / "sweeper" / "launch.py", home)
    environment = {"PATH": os.environ["PATH"], "MPNET_HOME": str(project)}
    command = [sys.executable, "launch.py", "search_spaces/quickstart.yaml", *arguments]
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)


def test_a_copy_runs_in_the_folder_of_the_project(tmp_path: Path) -> None:
    done = copied(tmp_path, ROOT, "sweep.trails=3")
    assert done.returncode == 2
    assert "quickstart.yaml" in done.stderr
    assert "did you mean 'trials'?" in done.stderr


def test_a_copy_without_the_project_says_where_it_must_be(tmp_path: Path) -> None:
    done = copied(tmp_path, tmp_path / "mpnet")
    assert done.returncode == 2
    assert done.stderr == (
        f"launch.py: the project must be in {tmp_path}/mpnet, but is not; set MPNET_HOME.\n"
    )


@pytest.mark.parametrize(
    ("options", "environment", "address"),
    [
        ([], {}, None),
        ([], {"RAY_ADDRESS": ""}, None),
        ([], {"RAY_ADDRESS": "auto"}, "auto"),
        (["--address", "10.0.0.1:6379"], {"RAY_ADDRESS": "auto"}, "10.0.0.1:6379"),
    ],
)
def test_the_cluster_is_the_one_asked_for_or_that_of_the_environment(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    environment: dict[str, str],
    address: str | None,
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    seen: list[Options] = []
    monkeypatch.setattr(launching, "launch", lambda _, asked, *__: seen.append(asked) or 0)
    assert main([str(file), *options]) == 0
    assert [asked.address for asked in seen] == [address]


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--select-only" in capsys.readouterr().out
