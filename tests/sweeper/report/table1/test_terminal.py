"""The paper's table on a terminal of any width."""

import io

import pytest
from rich.console import Console

from sweeper.report.table1.cells import Table, table_of
from sweeper.report.table1.paper import COLUMNS
from sweeper.report.table1.terminal import show
from tests.sweeper.records import order_rerun
from tests.sweeper.report.table1.forms import assert_each_once
from tests.sweeper.table1_records import TESTS, recorded


def printed(table: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    show(table, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [60, 80, 160, 250])
def test_the_terminal_shows_every_cell_at_every_width(width: int) -> None:
    text = printed(table_of([recorded({"name": "ewc"})]), width)
    assert_each_once(text)
    assert all(column.label in text for column in COLUMNS)
    assert max(map(len, text.split("\n"))) <= width


def test_the_terminal_shows_our_numbers_line_by_line() -> None:
    lines = printed(table_of([recorded({"name": "ewc"})]), 160).split("\n")
    start = next(place for place, line in enumerate(lines) if "EWC" in line)
    cells = [[part.strip() for part in line.split("│")] for line in lines[start : start + 6]]
    assert [row[2] for row in cells] == ["ACC", "BWT", "paper", "diff.", "from", ""]
    ours = ["95.00 ± 2.00", "-4.00 ± 2.00", "98.12 / -1.03", "-3.12 / -2.97"]
    assert [row[3] for row in cells] == [*ours, "2 trials", "3 seeds"]
    assert [row[4] for row in cells] == ["no sweep", "", "99.18 / -0.57", "", "", ""]


def test_the_terminal_shows_unseen_class_orders_below_what_ours_rest_on() -> None:
    tests = [*TESTS, order_rerun(3, 1, 103, 0, 0.40, -0.5), order_rerun(4, 1, 104, 1, 0.50, -0.3)]
    lines = printed(table_of([recorded({"name": "ewc"}, tests=tests)]), 160).split("\n")
    start = next(place for place, line in enumerate(lines) if "3 seeds" in line)
    shown = [line.split("│")[3].strip() for line in lines[start : start + 4]]
    assert shown == ["3 seeds", "2 unseen orders", "45.00 ± 7.07", "-40.00 ± 14.14"]


def test_the_terminal_prints_names_as_they_are() -> None:
    table = table_of([recorded({"name": "[red]mine[/red]"})], ["[bold]x[/bold]: why"])
    text = printed(table, 250)
    assert "[red]mine[/red]" in text and "Not in the table: [bold]x[/bold]: why" in text
