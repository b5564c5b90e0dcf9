"""Several sweeps as one launch, before it starts: one plan, one status, all faults."""

import json
from pathlib import Path

import pytest

from sweeper.commands.launch import main
from sweeper.config.sweep import load_sweep
from sweeper.ledger import JOURNAL
from sweeper.ledger.journal import JournalFile
from tests.sweeper.ledgers import opened, outcome, start
from tests.sweeper.sweeps import SMALL


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


@pytest.mark.parametrize("options", [["--plan"], ["--plan", "--resume"]])
def test_a_start_opens_one_ledger_for_each_sweep(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    for name in ("a", "b"):
        (tmp_path / "out" / name).mkdir(parents=True)
        stage = opened(tmp_path / "out" / name, load_sweep(folder / f"{name}.yaml"))
        stage.finish(start(stage)[0], outcome(0.5))
    journals: list[Path] = []
    open_file = JournalFile.__init__

    def counted(self: JournalFile, path: Path) -> None:
        journals.append(path)
        open_file(self, path)

    monkeypatch.setattr(JournalFile, "__init__", counted)
    assert main([str(folder), "--output", str(tmp_path / "out"), *options]) == 0
    assert journals == [tmp_path / "out" / name / JOURNAL for name in ("a", "b")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["run.benchmark.name=split_mnist"], "--only PATTERN leaves sweeps out"),
        (["run.method.tau_9=1"], "did you mean"),
        (["--resume"], "there must be a sweep to go on with, but is none"),
        (["--only", "c"], "must fit the name of a sweep; there is a, b"),
        (["sweep.notify.url=https://${NOT_SET}"], "sweep.notify: ${NOT_SET} must be set in the"),
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


@pytest.mark.parametrize("options", [["--plan"], ["run.method.tau_9=1"]])
def test_a_plan_and_a_refused_start_leave_nothing_behind(
    folder: Path, tmp_path: Path, options: list[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    main([str(folder), "--output", str(tmp_path / "deep" / "out"), *options])
    assert sorted(tmp_path.rglob("*")) == before


def test_a_plan_does_without_data_and_says_which_to_get(
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MPNET_DATA", str(tmp_path / "nothing"))
    change, output = "run.benchmark.name=split_mnist", ["--output", str(tmp_path / "out")]
    assert main([str(folder), "--plan", change, *output]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "no data" in printed and "expected unknown without the data" in printed
    assert f"MPNET_DATA names the folder of all data sets; here it is {tmp_path}" in printed
    assert main([str(folder / "a.yaml"), "--plan", change, *output]) == 0
    printed = " ".join(capsys.readouterr().out.replace("│", "").split())
    assert "data to get" in printed and "unknown without the data" in printed
    assert not (tmp_path / "out").exists()


def test_the_status_of_several_sweeps_has_a_line_for_each(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "b").mkdir(parents=True)
    stage = opened(tmp_path / "out" / "b", load_sweep(folder / "b.yaml"))
    stage.finish(start(stage)[0], outcome(0.75, -0.25))
    assert main([str(folder), "--status", "--output", str(tmp_path / "out")]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "a: not begun"
    assert second.startswith("[stopped, 1 of 2 trials done] b: validation ACC 75.00%")
