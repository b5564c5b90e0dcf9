"""The rows of the table: the paper's, controls of ours, and whatever else has run."""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from sweeper.report.table1.paper import table1


class Row(NamedTuple):
    """A method: how the table calls it, our name of it, its measure (empty if it has none)."""

    label: str
    method: str
    measure: str


LRA_VAR, PPBI_VAR = Row("LRA (Var.)", "lra", "var"), Row("PPBI (Var.)", "ppbi", "var")
OURS = (LRA_VAR, Row("LRA (SNR)", "lra", "snr"), PPBI_VAR, Row("PPBI (SNR)", "ppbi", "snr"))
RIVALS = tuple(Row(name.upper(), name, "") for name in ("ewc", "si", "mas", "ucl", "ucb", "hat"))
FT, FF, JT = (Row(f"MP-{name.upper()}", name, "") for name in ("ft", "ff", "jt"))
SINGLE = Row("Single task", "single", "")
CONTROLS: Mapping[Row, tuple[Row, ...]] = {  # of what the paper claims
    LRA_VAR: (Row("LRA (one rate)", "lra", "uniform"), Row("LRA (shuffled)", "lra", "shuffled")),
    PPBI_VAR: (Row("MP-VCL", "ppbi", "uniform"), Row("PPBI (shuffled)", "ppbi", "shuffled")),
}


@cache
def paper_rows() -> tuple[Row, ...]:
    """The methods as the paper lists them."""
    return tuple(dict.fromkeys(Row(cell.row, cell.method, cell.measure) for cell in table1()))


def control_rows() -> tuple[Row, ...]:
    """What the paper has not: the controls, and every task alone."""
    return (*(row for rows in CONTROLS.values() for row in rows), SINGLE)


def row_of(method: Mapping[str, Any]) -> Row:
    """The row of a resolved run's method."""
    name, measure = str(method["name"]), str(method.get("measure", ""))
    for row in (*paper_rows(), *control_rows()):
        if row.method == name and row.measure in ("", measure):
            return row
    return Row(f"{name} ({measure})" if measure else name, name, measure)
