"""The paper's table: complete, consistent, its slips flagged, and found for a run."""

import inspect
from collections import Counter
from typing import Any

import pytest

from mpnet.config import parse_run
from mpnet.methods import METHODS
from sweeper.report.table1.paper import COLUMNS, cells_of, matching_cells, table1
from sweeper.results import tested
from tests.sweeper.records import finished, rerun, unfinished

PPBI = {"name": "ppbi", "measure": "var"}


def run(method: dict[str, Any], benchmark: str, **options: Any) -> dict[str, Any]:
    return {"method": method, "benchmark": {"name": benchmark, **options}}


def resolved(**blocks: Any) -> dict[str, Any]:
    """As `mpnet` binds it, every default filled in."""
    return parse_run(blocks).model_dump(mode="json")


def test_thirteen_rows_have_seven_cells_each() -> None:
    assert list(Counter(cell.row for cell in table1()).values()) == [7] * 13


def test_the_columns_are_those_of_the_data_file() -> None:
    assert [c[1:] for c in COLUMNS] == [(c.benchmark, c.n_tasks) for c in table1()[:7]]


def test_only_the_flagged_cell_is_impossible() -> None:
    """ACC - BWT is the mean accuracy right after each task, a mean of fractions."""
    impossible = [cell for cell in table1() if cell.acc - cell.bwt > 1]
    assert impossible == [cell for cell in table1() if cell.is_slip]
    assert [(cell.row, cell.acc, cell.bwt) for cell in impossible] == [("MAS", 0.9946, -0.0228)]


@pytest.mark.parametrize(
    ("row", "diagonal"),  # 2-MNIST, 5-MNIST, permuted, 2-CIFAR10, 5-CIFAR10, CIFAR10/100, sequence
    [
        ("EWC", [99.15, 99.75, 96.65, 83.26, 89.18, 73.48, 73.86]),
        ("LRA (Var.)", [99.36, 99.83, 98.21, 91.13, 92.45, 78.59, 78.04]),
        ("PPBI (SNR)", [99.43, 99.88, 98.45, 90.48, 90.05, 75.31, 77.76]),
        ("HAT", [98.79, 99.75, 97.34, 86.90, 92.09, 77.87, 83.16]),
        ("MP-JT", [99.39, 99.81, 98.32, 90.37, 93.85, 86.23, 79.35]),
    ],
)
def test_the_numbers_agree_with_an_independent_reading(row: str, diagonal: list[float]) -> None:
    cells = [cell for cell in table1() if cell.row == row]
    assert [100 * (cell.acc - cell.bwt) for cell in cells] == pytest.approx(diagonal, abs=1e-6)


def test_a_run_finds_its_cell_by_method_measure_benchmark_and_tasks() -> None:
    [cell] = matching_cells(run({"name": "lra", "measure": "snr"}, "split_mnist"), 2)
    assert (cell.row, cell.acc, cell.bwt) == ("LRA (SNR)", 0.9929, -0.0002)


@pytest.mark.parametrize("method", ["lra", "ppbi"])
def test_a_run_that_names_no_measure_finds_the_default_when_it_is_resolved(method: str) -> None:
    default = inspect.signature(METHODS[method]).parameters["measure"].default
    block = resolved(method={"name": method}, benchmark={"name": "sequence8"})
    assert [(c.method, c.measure) for c in matching_cells(block, 8)] == [(method, default)]


def test_a_method_without_measure_is_found() -> None:
    assert [c.row for c in matching_cells(run({"name": "ft"}, "cifar10_100"), 10)] == ["MP-FT"]


@pytest.mark.parametrize(
    "other",
    [
        (run(PPBI, "digits"), 5),
        (run(PPBI, "split_mnist"), 3),
        (run(PPBI, "split_mnist", dataset="fashion_mnist"), 5),
        (run({"name": "ppbi", "measure": "uniform"}, "split_mnist"), 5),  # not the paper's
        (run({"name": "mine"}, "split_mnist"), 5),
    ],
)
def test_other_runs_find_nothing(other: tuple[dict[str, Any], int]) -> None:
    assert matching_cells(*other) == []


# What has results


def test_the_cells_of_a_trial_and_of_its_reruns_are_those_of_their_runs_and_tasks() -> None:
    trial, test = finished(1, 0.9, 0.0), rerun(0, 1, 100, 0.9, 0.0)
    [found] = tested.tested([trial], [test])
    assert cells_of(trial) == cells_of(test) == cells_of(found)
    assert [(c.row, c.benchmark, c.n_tasks) for c in cells_of(trial)] == [
        ("LRA (Var.)", "split_mnist", 2)
    ]


def test_what_has_no_results_has_no_cell() -> None:
    assert cells_of(None) == cells_of(unfinished(0, "running")) == []
