"""Texts of a report, its Markdown and CSV, and the command that writes them."""

import csv
import io
import re
import types
from pathlib import Path

import pytest

from sweeper.commands.report import main
from sweeper.errors import SweepError
from sweeper.report.rendering import Report, render
from sweeper.results.facts import facts_of
from sweeper.results.records import TrialRecord
from sweeper.results.texts import duration, percent, run_commands, short_names
from tests.sweeper.records import ABOUT, HOSTILE, TESTS, TRIALS, finished, sweep_of


@pytest.fixture(scope="module")
def report() -> Report:
    return render(facts_of(sweep_of(repeats=2), TRIALS, TESTS), ABOUT)


# Texts


@pytest.mark.parametrize(
    ("value", "is_signed", "text"),
    [(0.9923, False, "99.23%"), (-0.0016, True, "-0.16%"), (0.0002, True, "+0.02%")]
    + [(-0.000001, True, "0.00%"), (None, True, "–")],
)
def test_fractions_read_as_percentages(value: float | None, is_signed: bool, text: str) -> None:
    assert percent(value, is_signed) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (7200, "2 h"), (90061, "1 d 1 h")],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_names_are_short_where_that_is_clear() -> None:
    paths = ["method.name", "method.tau_0", "layers.rho", "a.size", "b.size"]
    assert list(short_names(paths).values()) == ["method", "tau_0", "rho", "a.size", "b.size"]


def test_a_command_can_be_pasted_into_a_shell() -> None:
    trial = finished(0, 0.9, 0.0, values={"method.tau_0": 1e-05, "method.measure": "a b"})
    [command] = run_commands("x.yaml", trial, ())
    expected = "python -m mpnet x.yaml method.tau_0=1.0e-05 'method.measure=a b' --seed 0"
    assert command == expected


# Markdown and CSV


def test_the_markdown_has_the_same_numbers(report: Report) -> None:
    assert "| **test** | **95.00 ± 2.00%** | **-4.00 ± 2.00%** | 3 seeds |" in report.markdown
    assert "| task 2 | 90.00 | 98.00 |" in report.markdown
    assert "| 1 | 2 | finished | 94.00 | -2.00 | lra |" in report.markdown


def test_every_row_of_a_markdown_table_has_the_columns_of_its_head(report: Report) -> None:
    width = 0
    for line in report.markdown.split("\n"):
        n_bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert n_bars == width or not (n_bars and width)
        width = n_bars


def test_the_csv_gives_the_records_back(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(report.csv)))
    assert [int(row["number"]) for row in rows] == list(range(10))
    assert float(rows[1]["acc"]) == 0.91 and rows[1]["seeds"] == "0 1"
    assert float(rows[1]["method.alpha_max"]) == TRIALS[1].values["method.alpha_max"]
    assert rows[0]["method.alpha_max"] == "" and rows[5]["reason"] == f"Diverged: {HOSTILE}"


def test_the_same_records_give_the_same_report(report: Report) -> None:
    assert render(facts_of(sweep_of(repeats=2), TRIALS, TESTS), ABOUT) == report


# The command line


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
