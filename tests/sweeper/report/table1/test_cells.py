"""The paper's table from records: where a sweep belongs, what is shown, what is missing."""

import inspect
from dataclasses import replace
from typing import Any

import pytest

from mpnet.benchmarks import BENCHMARKS
from mpnet.config import RunConfig, parse_run
from mpnet.methods import METHODS
from sweeper.report.table1.cells import SweepHistory, Table, TableEntry, table_of
from sweeper.report.table1.paper import COLUMNS, Column, table1
from sweeper.report.table1.rows import paper_rows
from sweeper.results.records import RerunRecord, TrialRecord
from tests.sweeper.records import failed_rerun, finished, rerun
from tests.sweeper.report.table1.folder import folder_table
from tests.sweeper.table1_records import FAILED, TESTS, TRIALS, TWO_TASKS, recorded

EWC = {"name": "ewc"}
MEASURES = {"method.measure": {"choice": ["var", "snr"]}}


def entry(table: Table, row: str, column: str = "2-Split MNIST") -> TableEntry:
    [found] = [e for e in table.cells if (e.row.label, e.column.label) == (row, column)]
    return found


def with_sweep(table: Table) -> list[tuple[str, str]]:
    return [(e.row.label, e.column.label) for e in table.cells if e.folder]


# The paper's side


def test_there_are_thirteen_rows() -> None:
    assert [row.label for row in paper_rows()][:2] == ["EWC", "SI"] and len(paper_rows()) == 13


def test_without_sweeps_every_cell_of_the_paper_stands_once_in_its_order() -> None:
    table = table_of([])
    assert [e.paper for e in table.cells] == list(table1())
    assert {e.missing for e in table.cells} == {"no sweep"}


def test_a_slip_is_told_and_nothing_is_compared_with_it() -> None:
    sweep = recorded({"name": "mas"}, benchmark={"name": "split_cifar10", "n_tasks": 2})
    found = entry(table_of([sweep]), "MAS", "2-Split CIFAR10")
    assert found.acc and found.differences is None
    assert "impossible" in found.paper_remark and "101.74" in found.paper_remark


# Our side


def test_a_cell_has_mean_deviation_and_difference_over_the_test_seeds() -> None:
    found = entry(table_of([recorded(EWC)]), "EWC")  # paper: 0.9812, -0.0103
    assert found.acc and found.bwt
    assert (found.acc.mean, found.acc.deviation) == (pytest.approx(0.95), pytest.approx(0.02))
    assert (found.bwt.mean, found.bwt.deviation) == (pytest.approx(-0.04), pytest.approx(0.02))
    assert found.differences == (pytest.approx(-0.0312), pytest.approx(-0.0297))
    assert (found.n_finished, found.n_planned, found.acc.n, found.missing) == (2, 2, 3, "")


def test_the_choice_is_made_on_validation_data_not_on_the_test_split() -> None:
    tests = [*TESTS, rerun(3, 0, 100, 0.99, 0.0)]  # trial 0 did better there
    found = entry(table_of([recorded(EWC, tests=tests)]), "EWC")
    assert found.acc and found.acc.mean == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("trials", "tests", "select", "missing"),
    [
        ([], [], {}, "search: 0 of 2 trials"),
        (TRIALS[:1], [], {}, "search: 1 of 2 trials"),
        (FAILED, [], {}, "no finished trial (2 failed)"),
        (TRIALS, [], {}, "no finished rerun"),
        (TRIALS, [rerun(0, 0, 100, 0.9, 0.0)], {}, "no finished rerun"),  # not of the best
        (TRIALS, [], {"top": 0}, "no rerun asked for (select.top: 0)"),
        (TRIALS, TESTS[:2], {}, "2 of 3 reruns"),
        (TRIALS, [*TESTS[:2], failed_rerun(2, 1, 102, "")], {}, "2 of 3 reruns, 1 failed"),
    ],
)
def test_a_cell_says_what_it_lacks(
    trials: list[TrialRecord], tests: list[RerunRecord], select: dict[str, int], missing: str
) -> None:
    sweep = recorded(EWC, trials, tests, select={"seeds": 3, **select})
    assert entry(table_of([sweep]), "EWC").missing == missing


def test_a_cell_with_some_reruns_shows_them() -> None:
    found = entry(table_of([recorded(EWC, tests=TESTS[:1])]), "EWC")
    assert found.acc and (found.acc.mean, found.acc.deviation) == (0.93, None)


# Which cell


def test_of_several_sweeps_the_one_with_most_finished_trials_is_shown() -> None:
    small = recorded(EWC, TRIALS[:1], [], folder="small")
    for sweeps in ([small, recorded(EWC)], [recorded(EWC), small]):
        found = entry(table_of(sweeps), "EWC")
        assert found.folder == "a" and found.n_finished == 2
        assert "from a, which has the most finished trials (2); not shown: small" in found.remark


def test_a_sweep_over_measures_fills_a_cell_for_each() -> None:
    trials = [
        finished(0, 0.90, 0.0, values={"method.measure": "var"}),
        finished(1, 0.92, 0.0, values={"method.measure": "snr"}),
    ]
    table = table_of([recorded({"name": "lra"}, trials, space=MEASURES)])
    assert with_sweep(table) == [("LRA (Var.)", "2-Split MNIST"), ("LRA (SNR)", "2-Split MNIST")]
    var, snr = entry(table, "LRA (Var.)"), entry(table, "LRA (SNR)")
    assert snr.acc and snr.acc.mean == pytest.approx(0.95)
    assert (var.acc, var.n_finished, var.missing) == (None, 1, "no finished rerun")
    assert var.n_planned is None  # two trials are planned for both together


def test_a_sweep_without_trials_has_its_cells() -> None:
    table = table_of([recorded({"name": "ppbi"}, [], [], space=MEASURES)])
    assert with_sweep(table) == [
        ("PPBI (Var.)", "2-Split MNIST"),
        ("PPBI (SNR)", "2-Split MNIST"),
    ]
    assert entry(table, "PPBI (SNR)").missing == "search: 0 trials"


def test_a_sweep_whose_trials_all_failed_has_its_cell() -> None:
    bound = recorded(EWC, FAILED, [])
    unbound = replace(bound, bound_runs=[])  # only what the trials were is known
    assert with_sweep(table_of([bound])) == with_sweep(table_of([unbound]))
    assert with_sweep(table_of([bound])) == [("EWC", "2-Split MNIST")]


def test_a_trial_of_which_nothing_was_resolved_has_no_cell() -> None:
    begun = replace(FAILED[0], state="running", reason=None, run={})
    sweep = replace(recorded(EWC, [], []), trials=[begun], bound_runs=[])
    assert with_sweep(table_of([sweep])) == []


def bound_alone(**run: Any) -> SweepHistory:
    """A sweep without trials, its run resolved by `mpnet`."""
    resolved = parse_run(run).model_dump(mode="json")
    return replace(recorded(EWC, [], []), bound_runs=[resolved])


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.label)
def test_a_run_that_names_no_number_of_tasks_has_the_default(column: Column) -> None:
    signature = inspect.signature(BENCHMARKS[column.benchmark])
    default = getattr(signature.parameters.get("n_tasks"), "default", column.n_tasks)
    table = table_of([bound_alone(method=EWC, benchmark={"name": column.benchmark})])
    [(_, label)] = with_sweep(table)
    assert [c.n_tasks for c in COLUMNS if c.label == label] == [default]


def test_a_sequence_of_fewer_sets_is_another_benchmark() -> None:
    fewer = {"name": "sequence8", "sets": ["mnist", "fashion_mnist"]}
    assert with_sweep(table_of([bound_alone(method=EWC, benchmark=fewer)])) == []


@pytest.mark.parametrize("method", ["lra", "ppbi"])
def test_a_run_that_names_no_measure_has_the_default(method: str) -> None:
    default = inspect.signature(METHODS[method]).parameters["measure"].default
    table = table_of([bound_alone(method={"name": method}, benchmark=TWO_TASKS)])
    assert [(e.row.method, e.row.measure) for e in table.cells if e.folder] == [(method, default)]


def test_a_run_that_names_no_method_has_the_default() -> None:
    [row] = [row for row in paper_rows() if row.method == RunConfig().method["name"]]
    assert with_sweep(table_of([bound_alone(benchmark=TWO_TASKS)])) == [
        (row.label, "2-Split MNIST")
    ]
    assert row.label == "MP-FT"


@pytest.mark.parametrize(
    ("method", "label"),
    [
        ({"name": "mine"}, "mine"),
        ({"name": "mine", "measure": "x"}, "mine (x)"),
        ({"name": "lra", "measure": "x"}, "lra (x)"),
    ],
)
def test_a_method_of_ones_own_has_a_row_below_the_paper(
    method: dict[str, Any], label: str
) -> None:
    table = table_of([recorded(method)])
    assert len(table.entries) == 14 and table.entries[-1][0].row.label == label
    found = entry(table, label)
    assert found.acc and found.paper is None and found.differences is None
    assert table.entries[-1][1].missing == "no sweep"


@pytest.mark.parametrize(
    "benchmark",
    [{"name": "digits"}, {**TWO_TASKS, "dataset": "fashion_mnist"}],
)
def test_a_sweep_on_another_benchmark_is_left_out_and_named(benchmark: dict[str, Any]) -> None:
    table = table_of([recorded(EWC, benchmark=benchmark, folder="elsewhere")])
    assert with_sweep(table) == []
    assert table.left_out == ("elsewhere: EWC on another benchmark",)


# The folder of search spaces


def test_the_folder_of_the_table_has_one_sweep_for_each_cell() -> None:
    table = folder_table()
    assert len(table.cells) == len({e.folder for e in table.cells if e.folder}) == 126
    assert table.left_out == () and not any(e.remark for e in table.cells)
