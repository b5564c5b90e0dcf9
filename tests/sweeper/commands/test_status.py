"""`sweeper status`: what a real ledger says, while a sweep runs or after it."""

import time
from pathlib import Path
from typing import Any

import pytest

from sweeper.commands.launch import main as launch
from sweeper.commands.list import main as list_all
from sweeper.commands.status import main
from sweeper.ledger import Ledger
from sweeper.ledger.live import Live, RunningTrial, write_live
from sweeper.results.records import Rerun
from tests.sweeper.ledgers import opened, outcome, rerun_all, start, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def begun(folder: Path) -> Ledger:
    """A sweep of four trials: one has finished, one has failed, one is running."""
    stage = opened(folder, swept(trials=4))
    stage.finish(start(stage)[0], outcome(0.75, -0.125))
    stage.fail(start(stage)[0], "diverged")
    start(stage)
    return Ledger(folder)


def test_a_sweep_that_runs_is_shown_with_its_ranking_and_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(tmp_path)
    assert main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "75.00%" in printed and "-12.50%" in printed
    assert "1 finished, 1 failed, 1 running" in printed


def test_the_places_that_were_noted_at_the_end_can_be_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = [f"report:  /{'long/' * 40}report.html", "[red]mlflow ui[/red]"]
    begun(tmp_path).places = places
    assert main([str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == places


def test_nothing_is_changed(tmp_path: Path) -> None:
    begun(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main([str(tmp_path)]) == 0
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_results_on_the_test_sets_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = begun(tmp_path)
    rerun_all(ledger.reruns([Rerun(0, 7), Rerun(0, 8)]))
    assert main([str(tmp_path)]) == 0
    assert "50.00 ± 0.00%" in capsys.readouterr().out


def alive(folder: Path, **changes: object) -> None:
    """A driver has said something of it just now."""
    trial = RunningTrial("trial 2", "b=x", "task 2/5, epoch 3/9", 0.5, "node7 cuda", time.time())
    told = {"driver": "host, process 7", "state": "running", "stage": "search"}
    counts = {"n_over": 2, "n_wanted": 4, "seconds_left": 90.0, "running": (trial,)}
    live = {**told, **counts, "places": ("report:  here",), **changes}
    write_live(folder, Live(**live))  # type: ignore[arg-type]


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_trials_at_work_are_shown_with_their_place_values_node_and_last_sign_of_life(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    begun(tmp_path)
    alive(tmp_path)
    assert main([str(tmp_path)]) == 0
    printed = shown(capsys)
    assert "s: running (host, process 7), search 2/4 done, about 1 min 30 s left" in printed
    for part in ("task 2/5, epoch 3/9", "50.00%", "node7 cuda", "0 s ago", "b=x"):
        assert part in printed, part
    assert "trial 1 failed: diverged" in printed
    assert printed.endswith("report: here")


def test_trials_and_reruns_at_work_are_not_folded_in_80_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    begun(tmp_path)
    seen, node = time.time(), "node7.cluster cuda"
    trial = RunningTrial("trial 12", "tau_max=1.9e-06", "task 2/5, epoch 3/9", 0.5, node, seen)
    rerun = RunningTrial("rerun of trial 12, seed 9", "", "", None, node, seen)
    alive(tmp_path, running=(trial, rerun))
    assert main([str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1:6] == [
        "2 trials at work:",
        "  trial 12                   task 2/5, epoch 3/9  ACC 50.00% so far",
        "    node7.cluster cuda  heard of 0 s ago  tau_max=1.9e-06",
        "  rerun of trial 12, seed 9  starting",
        "    node7.cluster cuda  heard of 0 s ago",
    ]


def test_the_folder_of_a_sweep_will_do_for_the_launcher_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(tmp_path)
    alive(tmp_path, state="paused")
    assert launch([str(tmp_path), "--status"]) == 0
    assert "s: paused (host, process 7)" in shown(capsys)


def test_a_silent_driver_and_none_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(tmp_path)
    assert main([str(tmp_path)]) == 0
    assert "s: nobody works on it; --resume goes on" in shown(capsys)
    alive(tmp_path, time=time.time() - 300)
    assert main([str(tmp_path)]) == 0
    printed = shown(capsys)
    assert "no sign of life from its driver (host, process 7) for 5 min" in printed
    assert "node7" not in printed


@pytest.mark.parametrize("command", [main, list_all])
def test_all_sweeps_below_a_folder_are_listed(
    command: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        begun(tmp_path / name)
    alive(tmp_path / "two")
    assert command([str(tmp_path)]) == 0
    rows = [line.replace("│", "").split() for line in capsys.readouterr().out.splitlines()]
    assert ["one", "stopped", "2/4", "1", "75.00%", "0", "s", "ago"] in rows
    assert ["two", "running", "2/4", "1", "75.00%", "0", "s", "ago"] in rows


def test_a_folder_without_sweeps_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert list_all([str(tmp_path)]) == 2
    assert "must hold sweeps" in capsys.readouterr().err
