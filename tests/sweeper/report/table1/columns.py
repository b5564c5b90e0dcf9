"""Made-up columns of the table: rows with test results of their own, seed by seed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sweeper.report.table1.cells import SweepHistory, Table, table_of
from sweeper.results.records import RerunRecord
from tests.sweeper.records import finished, rerun
from tests.sweeper.table1_records import TWO_TASKS, recorded

Method = dict[str, Any]
METHODS: Mapping[str, Method] = {
    "LRA (Var.)": {"name": "lra", "measure": "var"},
    "LRA (one rate)": {"name": "lra", "measure": "uniform"},
    "LRA (shuffled)": {"name": "lra", "measure": "shuffled"},
    "PPBI (Var.)": {"name": "ppbi", "measure": "var"},
    "MP-VCL": {"name": "ppbi", "measure": "uniform"},
    **{name.upper(): {"name": name} for name in ("ewc", "si", "ucb", "hat")},
    **{f"MP-{name.upper()}": {"name": name} for name in ("ft", "ff", "jt")},
    "Single task": {"name": "single"},
}


def history(
    row: str, accs: Sequence[float], validation: float = 0.9, seeds: Sequence[int] = (1, 2, 3, 4)
) -> SweepHistory:
    """A sweep of one trial whose reruns end with these accuracies and have forgotten a point."""
    trial = replace(finished(0, validation, 0.0, values={}), versions={"commit": "abc"})
    found = [_rerun(seed, acc) for seed, acc in zip(seeds, accs, strict=False)]
    return recorded(METHODS[row], [trial], found, TWO_TASKS, folder=row, select={"seeds": 4})


def _rerun(seed: int, acc: float) -> RerunRecord:
    R = [[acc + 0.02, None], [acc, acc]]
    return replace(rerun(seed, 0, seed, acc, -0.01), R=(R,), versions={"commit": "abc"})


def column(**accs: Sequence[float]) -> Table:
    """The table of a column, by the first words of rows: `lra` is LRA (Var.)."""
    short = {row.partition(" ")[0].replace("MP-", "").lower(): row for row in METHODS}
    short |= {"lra": "LRA (Var.)", "ppbi": "PPBI (Var.)", "uniform": "LRA (one rate)"}
    return table_of([history(short[name], values) for name, values in accs.items()])
