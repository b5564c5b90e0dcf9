"""`sweeper status`: what a real ledger says, while a sweep runs or after it."""

from pathlib import Path

import pytest

from sweeper.commands.status import main
from sweeper.ledger import Ledger
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
