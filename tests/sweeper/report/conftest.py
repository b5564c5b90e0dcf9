"""Reports of literal records, rendered once."""

import pytest

from sweeper.report.rendering import Report, render
from sweeper.results.facts import facts_of
from tests.sweeper import groups
from tests.sweeper.records import ABOUT, TESTS, TRIALS, Page, sweep_of


@pytest.fixture(scope="session")
def report() -> Report:
    return render(facts_of(sweep_of(repeats=2), TRIALS, TESTS), ABOUT)


@pytest.fixture(scope="session")
def page(report: Report) -> Page:
    return Page(report.html)


@pytest.fixture(scope="session")
def compared() -> Report:
    """Of a sweep that compares groups."""
    return render(facts_of(groups.swept(), groups.TRIALS, groups.TESTS), {})
