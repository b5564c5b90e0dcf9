"""The words of a cell that all forms share."""

import pytest

from sweeper.report.table1.cells import Table, table_of
from sweeper.report.table1.words import Difference, Words, raised, words
from sweeper.results.records import RerunRecord, TrialRecord
from tests.sweeper.records import order_rerun, rerun
from tests.sweeper.report.table1.forms import TABLE
from tests.sweeper.table1_records import TESTS, TRIALS, recorded


def cell(table: Table, row: str, column: str = "2-Split MNIST") -> Words:
    every = [one for line in words(table) for one in line]
    [found] = [w for w in every if (w.entry.row.label, w.entry.column.label) == (row, column)]
    return found


def test_a_cell_with_results_reads_in_percent_with_what_it_rests_on() -> None:
    found = cell(table_of([recorded({"name": "ewc"})]), "EWC")  # paper: 0.9812, -0.0103
    assert (found.acc, found.bwt) == ("95.00 ± 2.00", "-4.00 ± 2.00")
    assert found.paper == ("98.12", "-1.03")
    assert found.differences == (Difference("-3.12", "worse"), Difference("-2.97", "worse"))
    assert (found.basis, found.missing) == ("2 trials, 3 seeds", "")


def test_a_cell_without_results_says_only_what_is_missing_and_what_the_paper_has() -> None:
    found = cell(table_of([recorded({"name": "ewc"}, TRIALS[:1], [])]), "EWC")
    assert (found.acc, found.bwt, found.basis, found.differences) == ("", "", "", ())
    assert (found.missing, found.paper) == ("search: 1 of 2 trials", ("98.12", "-1.03"))


@pytest.mark.parametrize(
    ("trials", "tests", "basis"),
    [
        (TRIALS, TESTS[:1], "2 trials, 1 of 3 reruns"),
        (TRIALS[1:], TESTS, "1 of 2 trials, 3 seeds"),
    ],
)
def test_a_basis_says_what_is_still_to_come(
    trials: list[TrialRecord], tests: list[RerunRecord], basis: str
) -> None:
    assert cell(table_of([recorded({"name": "ewc"}, trials, tests)]), "EWC").basis == basis


@pytest.mark.parametrize(
    ("accs", "look"),
    [
        ((0.990, 0.991), "better"),  # paper: 0.9812
        ((0.970, 0.971), "worse"),
        ((0.970, 0.990), "alike"),  # 0.9800 ± 0.0141
        ((0.990,), "better"),  # one run has no deviation to explain it
    ],
)
def test_a_difference_within_the_deviation_of_ours_is_none(
    accs: tuple[float, ...], look: str
) -> None:
    tests = [rerun(n, 1, 100 + n, acc, 0.0) for n, acc in enumerate(accs)]
    found = cell(table_of([recorded({"name": "ewc"}, tests=tests)]), "EWC")
    assert found.differences[0].look == look


ON_ORDERS = [order_rerun(3, 1, 103, 0, 0.40, -0.5), order_rerun(4, 1, 104, 1, 0.50, -0.3)]


def test_unseen_class_orders_are_told_apart_and_the_paper_is_compared_with_the_tuned_one() -> None:
    select = {"seeds": 3, "class_orders": 2}
    plain = cell(table_of([recorded({"name": "ewc"})]), "EWC")
    history = recorded({"name": "ewc"}, tests=[*TESTS, *ON_ORDERS], select=select)
    found = cell(table_of([history]), "EWC")
    assert found.orders == ("2 unseen orders", "45.00 ± 7.07", "-40.00 ± 14.14")
    assert (found.acc, found.bwt, found.differences) == (plain.acc, plain.bwt, plain.differences)
    assert (found.basis, plain.orders) == ("2 trials, 3 seeds", ())


@pytest.mark.parametrize(
    ("tests", "missing"),
    [
        ([*TESTS, ON_ORDERS[0]], "1 of 2 class orders"),
        (TESTS, "0 of 2 class orders"),
        ([*TESTS[:2], *ON_ORDERS], "2 of 3 reruns"),
        ([TESTS[0], ON_ORDERS[0]], "1 of 3 reruns, 1 of 2 class orders"),
    ],
)
def test_a_cell_is_complete_with_all_its_seeds_and_all_its_class_orders(
    tests: list[RerunRecord], missing: str
) -> None:
    select = {"seeds": 3, "class_orders": 2}
    found = cell(table_of([recorded({"name": "ewc"}, tests=tests, select=select)]), "EWC")
    assert (found.entry.missing, found.basis) == (missing, f"2 trials, {missing}")


def test_a_method_of_ones_own_has_nothing_of_the_paper() -> None:
    found = cell(table_of([recorded({"name": "mine"})]), "mine")
    assert (found.paper, found.differences) == ((), ())
    assert found.acc


def test_notes_are_numbered_as_they_stand_below_the_table() -> None:
    every = [one for line in words(TABLE) for one in line]
    ours = {one.entry.remark: one.note for one in every if one.entry.remark}
    papers = {one.entry.paper_remark: one.paper_note for one in every if one.entry.paper_remark}
    assert {text: TABLE.notes[n - 1] for text, n in (ours | papers).items()} == {
        text: text for text in TABLE.notes
    }


@pytest.mark.parametrize(("number", "mark"), [(0, ""), (1, "¹"), (10, "¹⁰"), (29, "²⁹")])
def test_a_mark_is_a_raised_number(number: int, mark: str) -> None:
    assert raised(number) == mark
