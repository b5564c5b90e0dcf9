"""What the paper says of its table, and what ours says of that."""

import pytest

from sweeper.report.table1.cells import Table, table_of
from sweeper.report.table1.claims import CLAIMS, Claim, Verdict, evidence
from sweeper.report.table1.paper import COLUMNS
from tests.sweeper.report.table1.columns import column
from tests.sweeper.report.table1.test_against import HIGH, LOW, MIDDLE

NEAR = (0.951, 0.961, 0.969, 0.962)


def claimed(text: str) -> Claim:
    [found] = [claim for claim in CLAIMS if claim.text.startswith(text)]
    return found


def verdict(claim: Claim, table: Table) -> Verdict:
    [found] = [one for one in evidence(claim, table) if one.column.label == "2-Split MNIST"]
    return found.verdict


def test_without_sweeps_nothing_is_tested() -> None:
    found = [one for claim in CLAIMS for one in evidence(claim, table_of([]))]
    assert {one.verdict for one in found} == {"not tested"}
    assert {one.column for one in found} == set(COLUMNS)


@pytest.mark.parametrize(
    ("lra", "ucb", "expected"),
    [(HIGH, LOW, "for"), (LOW, HIGH, "against"), (HIGH, NEAR, "open"), (HIGH, LOW[:1], "open")],
)
def test_a_claim_to_be_above_is_judged_by_the_whole_interval(
    lra: tuple[float, ...], ucb: tuple[float, ...], expected: Verdict
) -> None:
    assert verdict(claimed("LRA is above UCB"), column(lra=lra, ucb=ucb)) == expected


@pytest.mark.parametrize(
    ("lra", "hat", "expected"),
    [(HIGH, NEAR, "for"), (HIGH, LOW, "against"), (LOW, HIGH, "against"), (HIGH, MIDDLE, "open")],
)
def test_a_claim_to_be_on_par_is_judged_by_a_margin_of_a_point(
    lra: tuple[float, ...], hat: tuple[float, ...], expected: Verdict
) -> None:
    assert verdict(claimed("LRA and PPBI are on par with HAT"), column(lra=lra, hat=hat)) == (
        expected
    )


def test_a_claim_about_some_columns_is_asked_of_no_other() -> None:
    assert [one.column.label for one in evidence(claimed("With CIFAR100"), table_of([]))] == [
        "CIFAR10/100"
    ]
