"""Differences between cells, as lines of a table."""

from sweeper.report.table1.pairs import against, alone
from sweeper.report.table1.paper import COLUMNS
from tests.sweeper.report.table1.columns import column

HIGH, LOW = (0.95, 0.96, 0.97, 0.96), (0.80, 0.83, 0.81, 0.82)


def test_a_line_says_column_rows_role_differences_and_pairs() -> None:
    [line] = against(column(lra=HIGH, ft=LOW))
    assert line[1:4] == ["LRA (Var.)", "MP-FT", "fine-tuning"]
    assert line[4].startswith("+14.50 [") and line[4].endswith("] *")
    assert line[6] == "4"


def test_without_a_common_run_there_is_no_line() -> None:
    assert against(column(lra=HIGH)) == []


def test_every_task_alone_is_set_beside_the_cells_of_its_column() -> None:
    table = column(lra=LOW, single=HIGH)
    lines = [line for one in COLUMNS for line in alone(table, one)]
    assert [line[0] for line in lines] == ["LRA (Var.)"]
    assert lines[0][1].startswith("+14.50 [") and lines[0][2].startswith("-14.50 [")
