"""The command line, end to end on real digits."""

import json
import re
import shutil
import sysconfig
from pathlib import Path

import pytest

from sweeper.launch import main
from tests.sweeper.sweeps import SMALL, Command, assert_ledger_and_mlflow_agree


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
    assert len(command.finished("test")) == 2
    assert_ledger_and_mlflow_agree(command)
    journal = (command.folder / "study.journal").read_bytes()
    assert "This sweep is finished; nothing was changed." in command.run()
    assert (command.folder / "study.journal").read_bytes() == journal
    assert "must stay as it was started" in command.run("run.seed=5", "--resume", code=2)


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


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--select-only" in capsys.readouterr().out
