"""`sweeper report`: what it writes, and what it says of a folder that is none."""

import types
from pathlib import Path

import pytest

from sweeper.commands.report import main
from sweeper.errors import SweepError
from sweeper.results.records import TrialRecord
from tests.sweeper.records import TESTS, TRIALS, sweep_of


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A ledger that knows one sweep, whatever the folder."""
    known = types.SimpleNamespace(
        sweep=sweep_of(), trial_records=lambda: TRIALS, rerun_records=lambda: TESTS
    )
    monkeypatch.setattr("sweeper.ledger.open_ledger", lambda folder: known)
    return known


@pytest.mark.usefixtures("ledger")
def test_the_files_are_written_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    written = [tmp_path / name for name in ("report.html", "report.md", "trials.csv")]
    assert capsys.readouterr().out.split("\n")[:-1] == [str(path) for path in written]
    assert "lra_or_ppbi" in written[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_a_folder_without_a_sweep_is_refused_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / name
    assert main([str(folder)]) == 2
    assert capsys.readouterr().err == (
        f"{folder}: must be the folder of a sweep, but none has begun there.\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_a_sweep_is_said_as_it_is(
    ledger: types.SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> list[TrialRecord]:
        raise SweepError("[red]no[/red] sweep here")

    ledger.trial_records = refuse
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == "[red]no[/red] sweep here\n"


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "sweeper report sweeps/" in capsys.readouterr().out
