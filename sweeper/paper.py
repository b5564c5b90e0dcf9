"""The paper's numbers: Table I as printed, its slips flagged."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("paper_table1.csv")
EPOCHS, BATCH_SIZE = 250, 500  # of every run behind the table


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
    """The cells of a run's method, benchmark and measure; both measures if it names none."""
    method, benchmark = run.get("method", {}), run.get("benchmark", {})
    measure = method.get("measure")
    if benchmark.get("dataset", "mnist") != "mnist":  # split_mnist has other images too
        return []
    return [
        cell
        for cell in table1()
        if (cell.method, cell.benchmark) == (method.get("name"), benchmark.get("name"))
        and cell.n_tasks == n_tasks
        and (measure is None or cell.measure in ("", measure))
    ]


def departures(run: Mapping[str, Any]) -> list[str]:
    """Where a run is known to leave the paper's protocol."""
    training, benchmark = run.get("training", {}), run.get("benchmark", {})
    stated = {"epochs": EPOCHS, "batch_size": BATCH_SIZE}
    found = [
        f"{key} {training[key]} (paper: {value})"
        for key, value in stated.items()
        if training.get(key, value) != value
    ]
    if limit := benchmark.get("max_train_per_class"):
        found.append(f"at most {limit} training images per class (paper: all)")
    return found


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
