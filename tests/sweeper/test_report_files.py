"""Numbers and texts of a report, its Markdown and CSV, and the command that writes them."""

import csv
import io
import re
import statistics
import sys
import types
from pathlib import Path

import pytest

from sweeper.errors import SweepError
from sweeper.facts import facts_of, measured, over_seeds
from sweeper.records import TrialRecord
from sweeper.report import Report, render
from sweeper.report.__main__ import main
from sweeper.texts import duration, percent, run_commands, short_names
from tests.sweeper.records import ABOUT, HOSTILE, TESTS, TRIALS, finished, sweep_of


@pytest.fixture(scope="module")
def report() -> Report:
    return render(sweep_of(repeats=2), TRIALS, TESTS, ABOUT)


# Numbers


def test_the_deviation_is_over_n_less_one() -> None:
    value = measured([0.93, 0.95, 0.97])
    assert (value.mean, value.n) == (pytest.approx(0.95), 3)
    assert value.deviation == pytest.approx(0.02)  # sqrt((0.02^2 + 0 + 0.02^2) / 2)


def test_one_run_has_no_deviation() -> None:
    assert measured([0.9]).deviation is None


def test_the_deviation_over_repeats_comes_from_their_matrices() -> None:
    scores = over_seeds(TRIALS[1])
    assert scores["acc"].deviation == pytest.approx(statistics.stdev([0.88, 0.94]))
    assert scores["bwt"].deviation == pytest.approx(statistics.stdev([-0.05, -0.02]))


def test_the_front_of_acc_and_bwt_is_found() -> None:
    facts = facts_of(sweep_of(), TRIALS, [])
    assert [trial.number for trial in facts.front] == [2, 3]


def test_test_results_are_ordered_as_the_ranking_and_count_failed_reruns() -> None:
    facts = facts_of(sweep_of(), TRIALS, list(reversed(TESTS)))
    assert [(r.configuration, r.acc.n, r.n_failed) for r in facts.tests] == [(2, 3, 0), (1, 1, 1)]


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
    assert render(sweep_of(repeats=2), TRIALS, TESTS, ABOUT) == report


# The command line


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A ledger module that knows one sweep."""
    known = types.SimpleNamespace(
        sweep=sweep_of(), records=lambda: TRIALS, test_records=lambda: TESTS
    )
    module = types.ModuleType("sweeper.ledger")
    module.open_ledger = lambda folder: known  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sweeper.ledger", module)
    return known


@pytest.mark.usefixtures("ledger")
def test_the_files_are_written_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    written = [tmp_path / name for name in ("report.html", "report.md", "trials.csv")]
    assert capsys.readouterr().out.split("\n")[:-1] == [str(path) for path in written]
    assert "lra_or_ppbi" in written[0].read_text(encoding="utf-8")


def test_an_unknown_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere: the output folder of a sweep must be there" in capsys.readouterr().err


def test_a_folder_without_a_sweep_is_refused(
    ledger: types.SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> list[TrialRecord]:
        raise SweepError("no sweep here")

    ledger.records = refuse
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == "no sweep here\n"


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m sweeper.report sweeps/" in capsys.readouterr().out
