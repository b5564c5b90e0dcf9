"""Which row of the table a run belongs to."""

import pytest

from sweeper.report.table1.rows import CONTROLS, OURS, Row, control_rows, paper_rows, row_of


def test_the_paper_has_thirteen_rows_and_ours_are_among_them() -> None:
    assert len(paper_rows()) == 13
    assert set(OURS) < set(paper_rows())


def test_controls_are_none_of_the_paper() -> None:
    assert not set(control_rows()) & set(paper_rows())
    assert set(CONTROLS) < set(OURS)


@pytest.mark.parametrize(
    ("method", "label"),
    [
        ({"name": "lra", "measure": "var"}, "LRA (Var.)"),
        ({"name": "lra", "measure": "uniform"}, "LRA (one rate)"),
        ({"name": "ppbi", "measure": "uniform"}, "MP-VCL"),
        ({"name": "ewc"}, "EWC"),
        ({"name": "ft"}, "MP-FT"),
        ({"name": "single"}, "Single task"),
    ],
)
def test_a_run_is_in_the_row_of_its_method_and_measure(method: dict[str, str], label: str) -> None:
    assert row_of(method).label == label


def test_a_method_of_ones_own_has_a_row_of_its_own() -> None:
    assert row_of({"name": "mine"}) == Row("mine", "mine", "")
    assert row_of({"name": "lra", "measure": "shuffled_snr"}).label == "lra (shuffled_snr)"
