"""Cells of a column against each other, run by run: pure functions. Fractions, no percents.

Two runs are a pair if they have the same seed and the same benchmark, down to its own seeds.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mpnet import metrics
from sweeper.report.table1.cells import Table, TableEntry
from sweeper.report.table1.paper import COLUMNS, Column
from sweeper.report.table1.rows import CONTROLS, FF, FT, OURS, RIVALS, SINGLE, Row
from sweeper.results.comparison import Difference, paired
from sweeper.results.records import RerunRecord

Metric = Callable[[metrics.Matrix], float]
Cells = Mapping[Row, TableEntry]  # of a column, those with test results


@dataclass(frozen=True)
class Pairing:
    """A cell less another.

    Args:
        role: of the other, in words.
    """

    first: TableEntry
    second: TableEntry
    role: str
    acc: Difference
    bwt: Difference


@dataclass(frozen=True)
class Reference:
    """A cell against every task alone.

    Args:
        intransigence: what a task is worse by right after its training than alone.
        forward: what the tasks from the second on are better by: forward transfer; None where
            there is one task.
    """

    entry: TableEntry
    intransigence: Difference
    forward: Difference | None


def cells_of_column(table: Table, column: Column) -> Cells:
    """The cells of a column that have test results, by their rows."""
    return {entry.row: entry for entry in table.results if entry.column == column}


def difference(first: TableEntry, second: TableEntry, metric: Metric) -> Difference | None:
    """The first less the second over the runs that are pairs; None if there are none."""
    a, b = _by_run(first, metric), _by_run(second, metric)
    return paired(a, b) if a.keys() & b.keys() else None


def best(cells: Cells, rows: Sequence[Row]) -> TableEntry | None:
    """The best of some rows by validation data, which leaves the test split unused."""
    found = [cells[row] for row in rows if row in cells]
    return max(found, key=_searched, default=None)


def _searched(entry: TableEntry) -> float:
    return entry.best.metrics["acc"] if entry.best else -1.0


def pairings(table: Table) -> list[Pairing]:
    """LRA and PPBI against the baselines, the best rival and their controls, by column."""
    found = []
    for column in COLUMNS:
        cells = cells_of_column(table, column)
        for ours in (cells[row] for row in OURS if row in cells):
            for role, other in opponents(cells, ours.row):
                acc, bwt = (difference(ours, other, m) for m in (metrics.acc, metrics.bwt))
                if acc and bwt:
                    found.append(Pairing(ours, other, role, acc, bwt))
    return found


def opponents(cells: Cells, row: Row) -> list[tuple[str, TableEntry]]:
    """What a row of ours has to be better than, as far as it is there."""
    asked = [
        ("fine-tuning", cells.get(FT)),
        ("frozen features", cells.get(FF)),
        ("best rival", best(cells, RIVALS)),
        *(("control", cells.get(control)) for control in CONTROLS.get(row, ())),
    ]
    return [(role, entry) for role, entry in asked if entry]


def leaders(table: Table) -> list[TableEntry]:
    """The cells of ours that are above FT, FF and the best rival, each interval clear of zero."""
    wanted = {"fine-tuning", "frozen features", "best rival"}
    won: dict[tuple[Row, Column], set[str]] = {}
    for one in pairings(table):
        if one.acc.is_clear and one.acc.mean > 0:
            won.setdefault((one.first.row, one.first.column), set()).add(one.role)
    return [e for e in table.results if wanted <= won.get((e.row, e.column), set())]


def references(table: Table) -> list[Reference]:
    """All cells against every task alone, where that has run."""
    found = []
    for column in COLUMNS:
        cells = cells_of_column(table, column)
        for entry in (cells[row] for row in cells if SINGLE in cells and row != SINGLE):
            behind = difference(cells[SINGLE], entry, metrics.mean_diagonal)
            if behind:
                ahead = difference(entry, cells[SINGLE], _later) if column.n_tasks > 1 else None
                found.append(Reference(entry, behind, ahead))
    return found


def _later(R: metrics.Matrix) -> float:
    """Mean accuracy on the tasks from the second on, each right after its training."""
    return float(np.diag(R)[1:].mean())


def _by_run(entry: TableEntry, metric: Metric) -> dict[tuple[int, str], float]:
    found = [one for one in entry.reruns if one.R]
    return {_pair_of(one): metric(np.array(one.R[0], dtype=float)) for one in found}


def _pair_of(one: RerunRecord) -> tuple[int, str]:
    """What two runs must have in common to be a pair."""
    return one.rerun.seed, json.dumps(one.run["benchmark"], sort_keys=True)
