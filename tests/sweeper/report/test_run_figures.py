"""Figures of single runs: their matrices and learning curves."""

import pytest

from mpnet.config import parse_run
from sweeper.report.run_figures import curves, matrices
from sweeper.results.facts import facts_of
from sweeper.results.records import Matrix
from tests.sweeper.records import R_A, R_B, TESTS, TRIALS, finished, sweep_of
from tests.sweeper.report.pages import drawn, rendered


def test_matrices_and_curves_may_be_missing() -> None:
    page = rendered([finished(n, 0.9 + n / 100, 0.0, curves=()) for n in range(2)])
    assert "no finished trial has a learning curve" in page.text


def test_curves_are_cut_by_the_epochs_of_the_resolved_run_even_if_it_says_them_in_short() -> None:
    benchmark = {"name": "split_mnist", "n_tasks": 2}
    resolved = parse_run({"benchmark": benchmark, "epochs": 20}).model_dump(mode="json")
    stopped_early = [[step, 1.0, 0.5] for step in (*range(1, 13), *range(21, 34))]
    trial = finished(0, 0.9, 0.0, values={}, run=resolved, curves=(stopped_early,))
    [trace], layout = drawn(curves(facts_of(sweep_of(), [trial], [])))
    assert trace["x"] == [*range(1, 13), None, *range(21, 34)]
    assert [shape["x0"] for shape in layout["shapes"]] == [20.5]
    assert [note["x"] for note in layout["annotations"]] == [10.5, 30.5]


def test_a_curve_is_the_mean_over_the_seeds_that_went_on_and_is_broken_between_tasks() -> None:
    long, short = [[1, 1.0, 0.5], [2, 0.9, 0.75], [4, 0.8, 1.0]], [[1, 1.0, 0.25]]
    trial = finished(0, 0.9, 0.0, R=(R_A, R_B), curves=(long, short))  # three epochs a task
    [trace], _ = drawn(curves(facts_of(sweep_of(), [trial], [])))
    assert trace["x"] == [1, 2, None, 4]
    assert trace["y"] == [37.5, 75.0, None, 100.0]


# Matrices


def test_the_best_stands_beside_its_test_result_and_before_those_behind_it() -> None:
    traces, layout = drawn(matrices(facts_of(sweep_of(repeats=2), TRIALS, TESTS)))
    titles = [note["text"] for note in layout["annotations"]]
    assert titles == [
        "Trial 2, validation",
        "Trial 2, test",
        "Trial 1, validation",
        "Trial 0, validation",
    ]
    percent = [[94.0, None], [90.0, 98.0]]
    assert [traces[0]["z"], traces[1]["z"]] == [percent, percent]


def test_a_matrix_of_several_seeds_is_their_mean() -> None:
    trial = finished(0, 0.9, 0.0, R=(R_A, R_B))
    [trace], _ = drawn(matrices(facts_of(sweep_of(), [trial], [])))
    assert trace["z"] == [[pytest.approx(92.0), None], pytest.approx([85.0, 97.0])]


@pytest.mark.parametrize(
    ("R", "low", "high"),
    [
        ([[0.9, None], [0.8, 0.96]], 80.0, 96.0),
        ([[0.901, None], [0.9, 0.903]], 89.3, 90.3),  # noise should not look like forgetting
    ],
)
def test_the_ends_of_the_colours_are_at_least_a_percent_apart(
    R: Matrix, low: float, high: float
) -> None:
    _, layout = drawn(matrices(facts_of(sweep_of(), [finished(0, 0.9, 0.0, R=(R,))], [])))
    ends = layout["coloraxis"]
    assert (ends["cmin"], ends["cmax"]) == (pytest.approx(low), pytest.approx(high))


def test_figures_name_the_data_set_of_each_task() -> None:
    trial = finished(0, 0.9, 0.0, data_sets=("svhn", "mnist"))
    facts = facts_of(sweep_of(), [trial], [])
    _, layout = drawn(matrices(facts))
    assert layout["xaxis"]["ticktext"] == layout["yaxis"]["ticktext"] == ["1 svhn", "2 mnist"]
    _, layout = drawn(curves(facts))
    texts = [note["text"] for note in layout["annotations"]]
    assert texts == ["task 1<br>svhn", "task 2<br>mnist"]


def test_tasks_of_one_data_set_have_numbers_alone() -> None:
    facts = facts_of(sweep_of(), [finished(0, 0.9, 0.0)], [])
    _, layout = drawn(matrices(facts))
    assert layout["xaxis"]["ticktext"] == ["1", "2"]
