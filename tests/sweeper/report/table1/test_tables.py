"""The paper's table as a page, as Markdown and as CSV."""

import csv
import io
import re

import pytest

from sweeper.report.table1.cells import table_of
from sweeper.report.table1.paper import table1
from sweeper.report.table1.words import raised
from sweeper.report.table1.writing import files
from tests.sweeper.records import Page, order_rerun
from tests.sweeper.report.table1.forms import TABLE, assert_each_once
from tests.sweeper.table1_records import TESTS, recorded

# Page


def test_the_page_has_every_cell_and_needs_nothing_else(forms: dict[str, str]) -> None:
    page = Page(forms["table1.html"])
    assert page.is_balanced and not page.open
    assert_each_once(re.sub(r"[+-]\d+\.\d\d / [+-]\d+\.\d\d", "", page.text))
    addresses = [a.get("src") or a.get("href") for _, a in page.tags]
    assert not [address for address in addresses if address and "//" in address]


def test_the_page_shows_our_numbers_and_what_is_missing(forms: dict[str, str]) -> None:
    text = Page(forms["table1.html"]).text
    whole = "95.00 ± 2.00 1 BWT -4.00 ± 2.00 paper 98.12 / -1.03 -3.12 / -2.97 2 trials, 3 seeds"
    assert whole in text
    assert "search: 1 of 2 trials paper 98.85 / -0.08" in text
    assert "93.00 BWT -2.00 paper 98.79 / 0.00 -5.79 / -2.00 2 trials, 1 of 3 reruns" in text


def test_the_page_escapes_names(forms: dict[str, str]) -> None:
    page = Page(forms["table1.html"])
    assert "alert('x')" in page.text
    assert "script" not in [tag for tag, _ in page.tags]


def test_every_mark_has_its_footnote(forms: dict[str, str]) -> None:
    page = Page(forms["table1.html"])
    marks = {a["href"] for tag, a in page.tags if tag == "a" and "#" in str(a.get("href"))}
    assert marks == {f"#note-{n}" for n in range(1, len(TABLE.notes) + 1)}
    assert {str(mark)[1:] for mark in marks} <= page.ids()
    assert all(raised(n) in forms["table1.md"] for n in range(1, len(TABLE.notes) + 1))


# Class orders

ON_ORDERS = [order_rerun(3, 1, 103, 0, 0.40, -0.5), order_rerun(4, 1, 104, 1, 0.50, -0.3)]


@pytest.fixture(scope="module")
def ordered() -> dict[str, str]:
    """All forms of a table with one cell that has results of both kinds."""
    select = {"seeds": 3, "class_orders": 2}
    return files(table_of([recorded({"name": "ewc"}, tests=[*TESTS, *ON_ORDERS], select=select)]))


def test_page_and_markdown_show_unseen_class_orders_below_the_seeds(
    ordered: dict[str, str], forms: dict[str, str]
) -> None:
    page = Page(ordered["table1.html"])
    said = "2 trials, 3 seeds 2 unseen orders: 45.00 ± 7.07 / BWT -40.00 ± 14.14"
    assert said in page.text and page.is_balanced
    assert said.replace("seeds 2", "seeds<br>2") in ordered["table1.md"]
    for name in ("table1.html", "table1.md"):
        assert "that the search has not seen" in ordered[name]
        assert "that the search has not seen" not in forms[name]


def test_the_csv_has_unseen_class_orders_in_columns_of_their_own(ordered: dict[str, str]) -> None:
    ewc, si, *_ = csv.DictReader(io.StringIO(ordered["table1.csv"]))
    names = ("acc", "bwt", "orders_acc", "orders_bwt", "orders")
    assert [float(ewc[name]) for name in names] == pytest.approx([0.95, -0.04, 0.45, -0.4, 2])
    assert [si[name] for name in names] == [""] * 5


def test_the_latex_has_a_line_for_unseen_class_orders(
    ordered: dict[str, str], forms: dict[str, str]
) -> None:
    (line,) = [t for t in ordered["table1.tex"].splitlines() if "unseen orders" in t]
    assert line.startswith(r"\quad unseen orders & $45.00 \pm 7.07$ & $-40.00 \pm 14.14$ & ")
    assert "unseen orders" not in forms["table1.tex"]


# Markdown


def test_the_markdown_is_a_table_of_eight_columns(forms: dict[str, str]) -> None:
    lines = [line for line in forms["table1.md"].split("\n") if line.startswith("|")]
    assert len(lines) == 2 + len(TABLE.entries)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {9}
    assert_each_once(" ".join(re.findall(r"paper ([^<|]*)", "\n".join(lines))))
    assert "95.00 ± 2.00¹<br>BWT -4.00 ± 2.00<br>paper 98.12 / -1.03" in lines[2]


# CSV


def test_the_csv_gives_the_table_back(forms: dict[str, str]) -> None:
    lines = list(csv.DictReader(io.StringIO(forms["table1.csv"])))
    read = [(x["row"], x["benchmark"], int(x["n_tasks"])) for x in lines]
    assert read[:91] == [(c.row, c.benchmark, c.n_tasks) for c in table1()] and len(read) == 98
    paper = [(float(x["paper_acc"]), float(x["paper_bwt"])) for x in lines[:91]]
    assert paper == [(c.acc, c.bwt) for c in table1()]
    assert [x["row"] for x in lines if x["paper_is_slip"] == "1"] == ["MAS"]


def test_the_csv_has_fractions_as_measured(forms: dict[str, str]) -> None:
    ewc, *_ = csv.DictReader(io.StringIO(forms["table1.csv"]))
    numbers = ("acc", "acc_deviation", "bwt", "bwt_deviation", "acc_difference", "bwt_difference")
    expected = [0.95, 0.02, -0.04, 0.02, -0.0312, -0.0297]
    assert [float(ewc[name]) for name in numbers] == pytest.approx(expected)
    counts = ("seeds", "seeds_planned", "trials_finished", "trials_planned")
    assert [ewc[name] for name in counts] == ["3", "3", "2", "2"]
    assert (ewc["sweep"], ewc["departures"]) == ("a", "epochs 9 (paper: 250)")
