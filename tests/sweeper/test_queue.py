"""A folder of sweeps, run as one, on real digits."""

import json
from pathlib import Path

import pytest
from mlflow import MlflowClient

from sweeper.launch import main
from sweeper.ledger import open_ledger
from tests.sweeper.sweeps import SMALL, Command, kill


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sweeps."""
    path = tmp_path / "both"
    path.mkdir()
    for name, method in (("a", "ft"), ("b", "ff")):
        run = {**SMALL["run"], "method": {"name": method}, "epochs": 1}
        space = {"method.tau_0": {"grid": [1e-5, 1e-6]}}
        select = {"top": 1, "seeds": 1}
        blocks = {"run": run, "space": space, "sweep": {"sampler": "grid"}, "select": select}
        (path / f"{name}.yaml").write_text(json.dumps(blocks))
    return path


def test_one_plan_for_all(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--output", str(tmp_path / "out")]
    assert main([str(folder), "--plan", *output]) == 0
    printed = capsys.readouterr().out
    assert "2 sweeps: 4 trials, 2 reruns" in printed
    assert main([str(folder), "--status", *output]) == 0
    assert capsys.readouterr().out.splitlines() == ["a: not begun", "b: not begun"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run.benchmark.name=split_mnist"], "--only PATTERN leaves sweeps out"),
        (["run.method.tau_9=1"], "did you mean"),
        (["--resume"], "there must be sweeps to go on with, but are none"),
        (["--only", "c"], "must fit the name of a sweep; there is a, b"),
    ],
)
def test_a_fault_of_any_is_told_before_one_starts(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    message: str,
) -> None:
    monkeypatch.setenv("MPNET_DATA", str(tmp_path / "nothing"))
    assert main([str(folder), "--output", str(tmp_path / "out"), *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_pattern_needs_a_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(folder / "a.yaml"), "--only", "a"]) == 2
    assert "must come with a folder" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_queue_is_resumed_as_a_whole(folder: Path, tmp_path: Path) -> None:
    command = Command(tmp_path)
    command.file = folder
    process = command.start()

    def has_finished_one() -> bool:
        journal = command.folder / "a" / "study.journal"
        return journal.exists() and len(open_ledger(command.folder / "a").records()) >= 2

    command.wait_for(has_finished_one)
    kill(process.pid)
    process.communicate()
    assert "2 of 2 sweeps" in command.run(code=2) or "1 of 2 sweeps" in command.run(code=2)
    command.run("--resume")
    for name in ("a", "b"):
        ledger = open_ledger(command.folder / name)
        keys = [record.key for record in ledger.records() if record.state == "finished"]
        assert len(keys) == len(set(keys)) == 2
        assert [record.state for record in ledger.test_records()].count("finished") == 1
    client = MlflowClient(f"sqlite:///{command.folder}/mlflow.db")
    experiments = [e for e in client.search_experiments() if e.name in ("a", "b")]
    runs = [run for e in experiments for run in client.search_runs([e.experiment_id])]
    assert len(runs) == 2 * (1 + 2 + 1)
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert "All of these sweeps are finished; nothing was changed." in command.run("--resume")
    assert command.run("--status").count("[finished]") == 2
