"""The page as a pure function of literal records, as HTML, Markdown and CSV."""

import csv
import io
import re
from dataclasses import replace

import plotly.offline
import pytest

from sweeper.report.rendering import Report, render
from sweeper.report.templates import FOLDER
from sweeper.results.facts import facts_of
from sweeper.results.records import Matrix
from tests.sweeper.records import (
    HOSTILE,
    TESTS,
    TRIALS,
    Page,
    failed,
    finished,
    order_rerun,
    rerun,
    selective,
    sweep_of,
)
from tests.sweeper.report.pages import rendered


def test_every_tag_of_the_page_is_closed(page: Page) -> None:
    assert page.is_balanced and page.open == []


def test_the_page_loads_nothing_from_elsewhere(page: Page) -> None:
    loaded = [
        value
        for tag, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "srcset") or (name == "href" and tag != "a")
    ]
    assert loaded == ["data:,"]  # an empty icon, so that none is asked for
    assert not re.search(r"url\(|@import", (FOLDER / "page.css").read_text())


def test_ranked_trials_lead_to_their_runs_where_those_have_pages() -> None:
    facts = facts_of(sweep_of(), TRIALS, TESTS)
    best, link = facts.ranked[0], "http://host:5000/#/experiments/1/runs/abc"
    page = Page(render(facts, {}, {f"search-{best.key}": link}).html)
    assert [a["href"] for tag, a in page.tags if tag == "a" and "title" in a] == [link]


def test_plotly_is_there_once_and_sends_nothing(report: Report, page: Page) -> None:
    assert report.html.count("plotly.js v") == 1
    n_plots = len([a for _, a in page.tags if "plotly-graph-div" in (a.get("class") or "")])
    assert report.html.count('"showSendToCloud": false') == n_plots > 4


@pytest.mark.parametrize(
    "part",
    ["best", "test", "ranking", "matrices", "search", "curves", "failed", "rerun"]
    + ["plot-matrices", "plot-trade-off", "plot-history-acc", "plot-slices-acc"]
    + ["plot-parallel"]
    + ["plot-sensitivity-acc", "plot-curves"],
)
def test_a_part_of_the_page_is_there(page: Page, part: str) -> None:
    assert part in page.ids()


def test_links_inside_the_page_lead_somewhere(page: Page) -> None:
    links = [a["href"] or "" for tag, a in page.tags if tag == "a"]
    assert links and {link.removeprefix("#") for link in links} <= page.ids()


def test_hostile_text_stays_text(report: Report, page: Page) -> None:
    assert "alert('x')</script>" not in report.html
    assert page.text.count(HOSTILE) == 5  # two rows, one reason, both sides of `about`
    assert "<script>" not in report.markdown


def test_the_word_for_what_matters_is_sensitivity(report: Report) -> None:
    ours = report.html.replace(plotly.offline.get_plotlyjs(), "")
    assert "Sensitivity of ACC" in ours and "mportance" not in ours + report.markdown


def test_the_headline_tells_what_and_how_many(page: Page) -> None:
    assert "lra, ppbi on split_mnist (2 tasks)" in page.text
    assert "5 finished, 3 failed, 1 stopped, 1 running; 5 min 20 s of training" in page.text


def test_the_headline_gives_validation_test_and_paper(page: Page) -> None:
    assert "Validation 94.00% BWT -2.00% trial 2, 1 seed" in page.text
    assert "Test 95.00 ± 2.00% BWT -4.00 ± 2.00% 3 new seeds" in page.text
    assert "Paper, LRA (Var.) 99.32% BWT -0.04%" in page.text
    assert "our test less theirs: -4.32 / -3.96 points" in page.text
    assert "Not the paper's protocol: epochs 3 (paper: 250)" in page.text


def test_the_ranking_shows_the_best_first_and_reasons_last(page: Page) -> None:
    ranking = page.text.split("Ranked trials")[1]
    assert "1 2 finished 94.00 -2.00 lra 3e-05 – 0.0001 -10 – 1 min 2 s 2 1 finished" in ranking
    assert "2 1 finished 91.00 ± 4.24 -3.50 ± 2.12 lra" in ranking
    assert "– 7 failed – – lra" in ranking and "OutOfMemory" in ranking


def test_the_failures_are_grouped_by_reason(page: Page) -> None:
    said = page.text.split("What failed and why")[1]
    assert said.startswith(f" 2 trials (5, 6) Diverged: {HOSTILE}")
    assert "1 trial (7), 1 test rerun OutOfMemory" in said


def test_the_commands_and_the_file_are_there(page: Page) -> None:
    said = page.text.split("Everything needed to rerun")[1]
    assert "python -m sweeper.launch lra_or_ppbi.yaml" in said
    assert "layers.is_noisy=null --split test --seed 100" in said
    assert "commit 0123abc" in said and "sampler: random" in said


# Markdown and CSV


def test_the_markdown_has_the_same_numbers(report: Report) -> None:
    assert "| **test** | **95.00 ± 2.00%** | **-4.00 ± 2.00%** | 3 seeds |" in report.markdown
    assert "Accuracy matrix R on validation data in %" in report.markdown
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


# Protection


ALIKE = "LRA: every weight keeps 69 % of its rate: this is fine-tuning at a lower rate"
SELECTIVE = [selective(0.31, 0.22, 0.48), selective(0.5, 0.1, 0.6)]


def protecting() -> Report:
    trial = finished(2, 0.94, -0.02, selectivity=(SELECTIVE,))
    alike = [selective(0.1, 0.2, 0.05, ALIKE), selective(0.3, 0.1, 0.4)]
    tests = [
        rerun(0, 2, 100, 0.93, -0.02, selectivity=(alike,)),
        rerun(1, 2, 101, 0.95, -0.04, selectivity=([alike[1]] * 2,)),
    ]
    return render(facts_of(sweep_of(), [TRIALS[0], trial], tests), {})


def test_the_page_says_how_selectively_the_best_protect() -> None:
    page = Page(protecting().html)
    said = page.text.split("How selectively the best protect")[1].split("The freedom of")[0]
    head = " trial split runs after task held (%) free (%) selectivity "
    assert said.removeprefix(head).strip() == (
        "2 validation 1 1 31.00 22.00 0.48 2 validation 1 2 50.00 10.00 0.60 "
        "2 test 2 1 20.00 ± 14.14 15.00 ± 7.07 0.23 ± 0.25 "
        "2 test 2 2 30.00 ± 0.00 10.00 ± 0.00 0.40 ± 0.00"
    )
    assert page.is_balanced and "protection" in page.ids()


def test_a_winner_that_holds_all_alike_is_told_in_words() -> None:
    report = protecting()
    line = f"After task 1: {ALIKE} (1 of 2 runs)."
    assert line in Page(report.html).text and line in report.markdown
    assert "After task 2" not in report.markdown


def test_the_markdown_has_the_same_table_of_protection() -> None:
    said = protecting().markdown
    assert "| 2 | validation | 1 | 1 | 31.00 | 22.00 | 0.48 |" in said
    assert "| 2 | test | 2 | 2 | 30.00 ± 0.00 | 10.00 ± 0.00 | 0.40 ± 0.00 |" in said


def test_one_task_is_both_the_first_and_the_last() -> None:
    one = finished(0, 0.9, 0.0, R=([[0.9]],), selectivity=([selective(0.1, 0.2, 0.05, ALIKE)],))
    said = render(facts_of(sweep_of(), [one], []), {}).markdown
    assert said.count("| 0 | validation |") == 1 and said.count(ALIKE) == 1


def test_sweeps_that_do_not_say_how_they_protect_have_no_such_part(page: Page) -> None:
    assert "protection" not in page.ids() and "selectively" not in page.text


# Unusual sweeps


def test_without_trials_the_page_says_so() -> None:
    page = rendered([])
    assert "lra, ppbi on split_mnist 6 parameters" in page.text
    assert "No trial has finished" in page.text and "There are no trials." in page.text
    assert "plot-trade-off" not in page.ids() and page.is_balanced


def test_with_failed_trials_only_the_page_says_why() -> None:
    page = rendered([failed(0, "no memory")])
    assert "No trial has finished" in page.text and "1 trial (0) no memory" in page.text


def test_one_trial_has_its_matrix_and_curve_and_no_comparison() -> None:
    page = rendered(TRIALS[:1])
    plots = {name for name in page.ids() if name and name.startswith("plot-")}
    assert plots == {"plot-matrices", "plot-curves"}
    assert "it takes at least 4 finished trials, and there are 1." in page.text


def test_two_hundred_trials_of_ten_tasks_are_rendered() -> None:
    R: Matrix = [[0.9 if i <= t else None for i in range(10)] for t in range(10)]
    trials = [finished(n, 0.5 + n / 1000, -n / 2000, R=(R,)) for n in range(200)]
    page = rendered(trials)
    assert page.is_balanced and "1 199 finished 69.90" in page.text.split("Ranked trials")[1]


# Class orders

ON_ORDERS = [order_rerun(9, 2, 100, 0, 0.40, -0.5), order_rerun(10, 2, 101, 3, 0.50, -0.3)]
MIXED = [*TESTS, *ON_ORDERS]
FAILED_ORDER = order_rerun(11, 2, 102, 4, 0.0, state="failed", reason="OutOfMemory")


def test_unseen_class_orders_have_a_section_and_a_card_of_their_own() -> None:
    page = Page(render(facts_of(sweep_of(), TRIALS, [*TESTS, *ON_ORDERS]), {}).html)
    assert page.is_balanced and "orders" in page.ids()
    card = "Test, unseen class orders 45.00 ± 7.07% BWT -40.00 ± 14.14% 2 orders"
    assert f"{card} that the search has not seen" in page.text
    said = page.text.split("Test results on unseen class orders")[1]
    row = "2 45.00 ± 7.07 -40.00 ± 14.14 0 (100), 3 (101) 95.00 ± 2.00 -4.00 ± 2.00"
    assert row in said
    assert "Tuned on ascending classes, judged on class orders" in said
    assert "benchmark.class_order=0 --split test --seed 100" in said


def test_unseen_class_orders_change_no_other_number_of_the_report() -> None:
    plain, both = (render(facts_of(sweep_of(), TRIALS, t), {}).markdown for t in (TESTS, MIXED))
    rest = iter(both.splitlines())
    assert all(line in rest for line in plain.splitlines())  # in this order, some between them
    assert len(both) > len(plain)


def test_the_markdown_has_both_kinds_and_what_failed() -> None:
    text = render(facts_of(sweep_of(), TRIALS, [*MIXED, FAILED_ORDER]), {}).markdown
    assert "| test, unseen class orders | 45.00 ± 7.07% | -40.00 ± 14.14% | 2 orders |" in text
    row = "| 2 | 45.00 ± 7.07 | -40.00 ± 14.14 | 0 (100), 3 (101) | 95.00 ± 2.00 | -4.00 ± 2.00 |"
    assert f"{row} 1 |" in text


def test_the_class_order_that_was_tuned_on_is_named() -> None:
    run = {**TRIALS[2].run, "benchmark": {**TRIALS[2].run["benchmark"], "class_order": 7}}
    trials = [replace(TRIALS[2], run=run)]
    text = render(facts_of(sweep_of(), trials, ON_ORDERS), {}).markdown
    assert "Tuned on class order 7, judged on" in text
    assert "class order 7 (paper: ascending)" in text


def test_if_all_trials_failed_the_reason_comes_first() -> None:
    report = render(facts_of(sweep_of(), [failed(0, "Diverged: task 2")], []), {})
    head = report.markdown.partition("## ")[2].partition("## ")[0]
    assert "The commonest reason: Diverged: task 2" in head
