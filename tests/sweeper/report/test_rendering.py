"""All forms of a report: the same for the same records, each a file."""

from pathlib import Path

from sweeper.config.sweep import load_sweep
from sweeper.report.rendering import Report, render
from sweeper.results.facts import facts_of
from tests.sweeper import groups
from tests.sweeper.records import ABOUT, TESTS, TRIALS, sweep_of


def test_the_same_records_give_the_same_report(report: Report) -> None:
    assert render(facts_of(sweep_of(repeats=2), TRIALS, TESTS), ABOUT) == report


def test_the_picture_is_a_file_of_its_own(compared: Report) -> None:
    assert compared.files["differences.svg"].startswith("<svg")
    facts = facts_of(groups.swept(), groups.TRIALS, groups.TESTS)
    assert render(facts, {}) == compared


def test_a_report_that_compares_nothing_has_no_picture(report: Report) -> None:
    assert list(report.files)[:3] == ["report.html", "report.md", "trials.csv"]
    assert not [name for name in report.files if name.endswith(".svg")]


def test_the_sweep_with_all_overrides_is_a_file_that_can_be_launched(
    report: Report, tmp_path: Path
) -> None:
    report.write(tmp_path)
    (path,) = tmp_path.glob("*.yaml")
    assert load_sweep(path).text == sweep_of(repeats=2).text


def test_every_form_is_written_as_it_is(report: Report, tmp_path: Path) -> None:
    paths = report.write(tmp_path)
    found = {path.name: path.read_bytes().decode("utf-8") for path in paths}
    assert found == report.files
    assert sorted(tmp_path.iterdir()) == sorted(paths)
