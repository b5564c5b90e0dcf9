"""The paper's numbers: Table I as printed, its slips flagged."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sweeper.results.records import Matrix, Record
from sweeper.results.tested import Tested

TABLE = Path(__file__).with_name("paper_table1.csv")


class Column(NamedTuple):
    """A benchmark: how the table heads it, our name of it, its number of tasks."""

    label: str
    benchmark: str
    n_tasks: int


COLUMNS = (
    Column("2-Split MNIST", "split_mnist", 2),
    Column("5-Split MNIST", "split_mnist", 5),
    Column("Permuted MNIST", "permuted_mnist", 10),
    Column("2-Split CIFAR10", "split_cifar10", 2),
    Column("5-Split CIFAR10", "split_cifar10", 5),
    Column("CIFAR10/100", "cifar10_100", 10),
    Column("Sequence", "sequence8", 8),
)


@dataclass(frozen=True)
class Cell:
    """One cell of the table, in fractions.

    Args:
        row: the method as the table calls it.
        measure: "var" or "snr"; empty where a method has none.
        benchmark: our name of it.
        is_slip: the printed numbers cannot be right.
        remark: what is odd about the cell; empty if nothing is.
    """

    row: str
    method: str
    measure: str
    benchmark: str
    n_tasks: int
    acc: float
    bwt: float
    is_slip: bool
    remark: str


@cache
def table1() -> tuple[Cell, ...]:
    """All 91 cells, row by row."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return tuple(_cell(line) for line in csv.DictReader(file))


def matching_cells(run: Mapping[str, Any], n_tasks: int) -> list[Cell]:
    """The cells of a resolved run's method, benchmark and measure."""
    column = column_of(run, n_tasks)
    if column is None:
        return []
    method = run["method"]
    wanted = (method["name"], column.benchmark, column.n_tasks)
    return [
        cell
        for cell in table1()
        if (cell.method, cell.benchmark, cell.n_tasks) == wanted
        and cell.measure in ("", method.get("measure"))
    ]


def cells_of(found: Record | Tested | None) -> list[Cell]:
    """The cells of what has results."""
    return matching_cells(found.run, len(_matrix(found))) if found and found.R else []


def _matrix(found: Record | Tested) -> Matrix:
    return found.R[0] if isinstance(found, Record) else found.R


def column_of(run: Mapping[str, Any], n_tasks: int) -> Column | None:
    """The column of the table that a resolved run's benchmark belongs to, if there is one."""
    benchmark = run.get("benchmark", {})
    if benchmark.get("dataset", "mnist") != "mnist":  # split_mnist has other images too
        return None
    found = [column for column in COLUMNS if column[1:] == (benchmark.get("name"), n_tasks)]
    return found[0] if found else None


def _cell(line: Mapping[str, str]) -> Cell:
    return Cell(
        row=line["row"],
        method=line["method"],
        measure=line["measure"],
        benchmark=line["benchmark"],
        n_tasks=int(line["n_tasks"]),
        acc=round(float(line["acc_percent"]) / 100, 6),
        bwt=round(float(line["bwt_percent"]) / 100, 6),
        is_slip=line["flag"] == "slip",
        remark=line["remark"],
    )
