"""Inputs that nobody means: each gets a message or a plan, soon and without a traceback."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeper.commands.launch import main
from tests.sweeper.sweeps import SMALL

HUGE = "1" + "0" * 399


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """In a folder where nothing is, and nothing may be left."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("RAY_ADDRESS", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    yield
    assert not list(folder.iterdir())


def written(tmp_path: Path, content: Any, name: str = "small.yaml") -> str:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))  # JSON is YAML
    return str(path)


def planned(tmp_path: Path, file: str, *options: str) -> int:
    return main([file, "--plan", "--output", str(tmp_path / "out"), *options])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("run.epochs=2026-13-45", "the value must be valid YAML, but got '2026-13-45'"),
        ("run.epochs=0x_", "the value must be valid YAML, but got '0x_'"),
        ("run.epochs=!!int x", "the value must be valid YAML, but got '!!int x'"),
        ("run.epochs=" + "9" * 5000, "a whole number must have at most 400 digits"),
        ("run.epochs=0x" + "f" * 5000, "a whole number must have at most 400 digits"),
        ("run.epochs=" + "[" * 3000, "nested too deeply"),
        ("space.method={grid: [1, 2]}", "space.method: must lead to a value, but 'method' is a"),
        ("run.network.hidden=[0]", "run.network.hidden.0: input should be greater than or equal"),
        ("run.network.hidden=[]", "run.network.hidden: at least one size >= 1 must be given"),
        ("run.network.hidden=[1000000000]", "GB, but takes 2,400 GB for weights, gradients and"),
        ("run.network={name: alexnet}", "at least 20 pixels wide, but got (1, 8, 8)"),
        (f"space.method.tau_max={{uniform: [0, {HUGE}]}}", "both numbers must be finite"),
        (f"space.method.tau_max={{grid: [{HUGE}]}}", "every number must be finite"),
        (f"space.training.epochs={{int: [1, {10**40}]}}", "both must be at most 2**53"),
        (f"sweep.trials={HUGE}", "sweep.trials: input should be less than or equal to 1000000"),
        (f"sweep.repeats={10**30}", "sweep.repeats: input should be less than or equal to 1000"),
        ("sweep.hours=.inf", "sweep.hours: input should be a finite number"),
        ("sweep.seed=4294967296", "sweep.seed: input should be less than 2147483648"),
        (f"run.seed={2**64}", "run.seed: input should be less than 9223372036854775808"),
        ("run.training.learning_rate=1e999", "learning_rate: input should be a finite number"),
        ("sweep.resources.gpu=2", "since a trial trains on one GPU"),
        ("--output=", "--output: must name a folder, but is empty"),
    ],
    ids=lambda text: text[:40],
)
def test_a_value_that_cannot_be_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], override: str, message: str
) -> None:
    try:
        code = planned(tmp_path, written(tmp_path, SMALL), override)
    except SystemExit as end:  # of argparse
        code = end.code
    printed = capsys.readouterr().err
    assert code == 2
    assert message in printed
    assert "Traceback" not in printed and len(printed) < 1500
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "address", ["garbage", ":6379", "x://y", "ray://", "127.0.0.1:99999", "ray://127.0.0.1:9"]
)
def test_an_address_of_the_environment_that_cannot_be_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: str,
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert planned(tmp_path, written(tmp_path, SMALL)) == 2
    text = f"--address, or RAY_ADDRESS: a Ray cluster must answer at {address}, "
    assert text in capsys.readouterr().err


def test_independent_faults_of_a_launch_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = {
        "sweep.trials=-1": "sweep.trials: input should be greater than or equal to 1",
        "run.method.tau_mx=1": "run.method.tau_mx: method 'ppbi' has no parameter 'tau_mx'",
        "select.tp=2": "select.tp: there is no key 'tp'",
        "space.x={grd: [1]}": "space.x: must have one kind of",
        "run.benchmark.name=digit": "no benchmark 'digit'; did you mean 'digits'?",
        "trials=3": "trials=3: must read block.key=value",
        "sweep.resources.gpu=3": "at most 1 must be asked for",
        "sweep.storage=/proc/x": "sweep.storage: /proc/x: must be a place to write to",
        "--output=/proc/y": "--output: /proc/y: must be a place to write to",
    }
    assert planned(tmp_path, written(tmp_path, SMALL), *faults) == 2
    printed = capsys.readouterr().err
    assert [text for text in faults.values() if text not in printed] == []


def test_faults_of_all_files_of_a_queue_are_told_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, {**SMALL, "sweep": {"trials": -1}}, "queue/a.yaml")
    written(tmp_path, {**SMALL, "run": {"method": {"name": "ppbbi"}}}, "queue/b.yaml")
    (tmp_path / "queue" / "c.yaml").write_text("run: [")
    written(tmp_path, SMALL, "queue/d.yaml")
    assert planned(tmp_path, str(tmp_path / "queue")) == 2
    printed = capsys.readouterr().err
    for text in ("a: sweep.trials: input", "b: run.method.name: no method 'ppbbi'", "c.yaml: v"):
        assert text in printed
    assert "d:" not in printed


def test_what_depends_on_a_faulty_path_is_no_fault_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = {"run": {"method": {}}, "space": {"method.name": {"grd": ["ft", "lra"]}}}
    assert planned(tmp_path, written(tmp_path, content)) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_more_to_select_than_there_are_trials_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "150")
    assert planned(tmp_path, written(tmp_path, SMALL), "select.top=1000") == 0
    assert "select.top asks for 1000, but there are 3 trials" in capsys.readouterr().out


def test_names_are_shown_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert planned(tmp_path, written(tmp_path, SMALL, ":x: [b]y.yaml")) == 0
    assert "Plan of :x: [b]y" in capsys.readouterr().out


def test_a_home_folder_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", "/proc")
    assert planned(tmp_path, written(tmp_path, SMALL), "sweep.storage=~/x") == 2
    assert "sweep.storage: /proc/x: must be a place to write to" in capsys.readouterr().err


def test_twenty_thousand_points_are_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = {"method.tau_max": {"grid": [1e-9 * (i + 1) for i in range(20_000)]}}
    content = {**SMALL, "space": space, "sweep": {"sampler": "grid"}}
    assert planned(tmp_path, written(tmp_path, content)) == 0
    assert "20000 by grid" in capsys.readouterr().out
