"""What the page says of a sweep that compares groups."""

import re

import pytest

from sweeper.report.rendering import Report, render
from sweeper.results.facts import facts_of
from tests.sweeper.groups import TESTS, TRIALS, swept
from tests.sweeper.records import Page


@pytest.fixture(scope="module")
def page(compared: Report) -> Page:
    return Page(compared.html)


def test_the_page_has_groups_their_differences_and_a_picture(page: Page) -> None:
    assert {"groups", "differences"} <= page.ids()
    assert "svg" in [tag for tag, _ in page.tags]
    assert page.is_balanced and page.open == []
    assert "#groups" in [attributes.get("href") for _, attributes in page.tags]


def test_every_group_has_its_test_result_and_its_configuration(page: Page) -> None:
    said = page.text.split("Group by group")[1]
    assert "lra var 91.00 ± 1.41 -9.00 ± 1.41 2 97.00 1 2 alpha=1" in said
    assert "ft 45.00 ± 7.07 -55.00 ± 7.07 2 50.00 5 1 alpha=1" in said


def test_a_difference_has_its_interval_and_a_warning_of_chance(page: Page) -> None:
    said = page.text.split("Group by group")[1]
    assert "lra var ppbi uniform +21.00 [+8.29, +33.71] * +21.00 [+8.29, +33.71] * 2" in said
    assert "18 intervals of 95%: about 1 would be clear of zero by chance alone." in said


def test_clear_differences_stand_out(compared: Report) -> None:
    cells = re.findall(r'<td class="clear"[^>]*>([^<]*)</td>', compared.html)
    assert cells and all(cell.endswith("*") for cell in cells)


def test_the_markdown_has_the_same_tables(compared: Report) -> None:
    assert "| **lra var** | 91.00 ± 1.41 | -9.00 ± 1.41 | 2 | 97.00 | 1 | 2 | alpha=1 |" in (
        compared.markdown
    )
    assert "| lra var | lra uniform | +9.00 [-3.71, +21.71] | +9.00 [-3.71, +21.71] | 2 |" in (
        compared.markdown
    )


def test_without_reruns_the_page_says_that_there_is_nothing_to_compare() -> None:
    report = render(facts_of(swept(), TRIALS, []), {})
    assert "there is nothing to compare yet" in Page(report.html).text
    assert "there is nothing to compare yet" in report.markdown
    assert "differences.svg" not in report.files


def test_a_group_without_a_finished_trial_is_named() -> None:
    page = Page(render(facts_of(swept(), TRIALS[:5], TESTS), {}).html)
    assert "ft – – 0 – – 0 no trial has finished" in page.text


def test_a_sweep_without_each_has_no_groups() -> None:
    report = render(facts_of(swept(each=()), TRIALS, TESTS), {})
    assert "groups" not in Page(report.html).ids()
    assert "Group by group" not in report.markdown
