"""The replay of searches, on a grid by hand, and the grids that were trained."""

from math import inf
from pathlib import Path
from typing import Any

import pytest

from sweeper.ledger import key_of
from sweeper.results.records import Matrix
from tests.performance.recorded_grids import FILE, SEEDS, RecordedGrid, acc, load, sweeps
from tests.performance.search import Cost, Replay, Way, cost, default_of, summary, sweep_of

BLOCKS: dict[str, Any] = {
    "run": {
        "benchmark": {"name": "digits", "n_tasks": 2},
        "method": {"name": "ppbi"},
        "seed": 0,
    },
    "space": {
        "method.tau_0": {"grid": [1e-6, 1e-7]},
        "method.tau_max": {"grid": [1e-3, 1e-4, 1e-5]},
    },
}
POOR: Matrix = [[0.5], [0.5, 0.9]]
BEST: Matrix = [[0.9], [0.9, 0.9]]


def grid_of(best: int, of_best: Matrix = BEST, seeds: int = 1) -> RecordedGrid:
    """Two first tasks, three points each; the best stands at a place of the file."""
    sweep = sweep_of(BLOCKS, Way("grid", repeats=seeds), 0, 6)
    points = list(sweep.space.points())
    rows = [of_best if place == best else POOR for place in range(len(points))]
    return RecordedGrid(
        BLOCKS, {key_of(p): [R] * len(SEEDS) for p, R in zip(points, rows, strict=True)}
    )


@pytest.fixture
def one_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that compares with two finished trials."""
    monkeypatch.setattr("sweeper.driver.bounding._FEWEST_RUNS", 2)


def test_a_search_costs_what_its_trials_train_and_shared_first_tasks_cost_once() -> None:
    """A grid is tried with different first tasks first: 0, 3, 1, 4, 2, 5 of the file."""
    assert cost(grid_of(best=4), Way("grid", repeats=1), 0, 6) == Cost(6, 8, 4, False)
    assert cost(grid_of(best=0), Way("grid", repeats=1), 0, 6) == Cost(2, 2, 1, False)


def test_every_seed_of_a_trial_has_a_first_task_of_its_own() -> None:
    assert cost(grid_of(best=4), Way("grid"), 0, 6) == Cost(3 * 6, 3 * 8, 4, False)


def test_with_several_at_once_what_is_under_way_counts_and_first_tasks_are_waited_for() -> None:
    """Both of the first tasks are trained, both second tasks; the third trial has begun one."""
    assert cost(grid_of(best=0), Way("grid", at_once=2, repeats=1), 0, 6) == Cost(4, 4, 2, False)
    assert cost(grid_of(best=1), Way("grid", at_once=2, repeats=1), 0, 6) == Cost(6, 8, 4, False)


@pytest.mark.usefixtures("one_will_do")
def test_the_bound_stops_what_cannot_win() -> None:
    """Two trials end; then one whose first task is poor is stopped before its second."""
    twice = grid_of(best=0)
    second = list(twice.matrices)[3]
    twice.matrices[second] = [[[0.9], [0.85, 0.9]]] * len(SEEDS)
    never = grid_of(best=5).matrices[list(twice.matrices)[5]]
    twice.matrices[list(twice.matrices)[0]] = [[[0.9], [0.8, 0.9]]] * len(SEEDS)
    twice.matrices[list(twice.matrices)[5]] = never
    found = cost(twice, Way("grid", "bound", repeats=1), 0, 6)
    assert found == Cost(4 + 1, 4 + 3 + 2, 6, False)


@pytest.mark.usefixtures("one_will_do")
def test_a_best_trial_that_was_stopped_is_lost() -> None:
    """Its old task improves as no trial's did before."""
    lifted = grid_of(best=1, of_best=[[0.1], [0.95, 0.9]])
    assert cost(lifted, Way("grid", "bound", repeats=1), 0, 6) == Cost(inf, inf, 6, True)


def test_categories_have_no_order() -> None:
    for sampler, kind in (("categories", "choice"), ("tpe", "grid")):
        sweep = sweep_of(BLOCKS, Way(sampler), 0, 6)
        assert sweep.sampler.name == "tpe"
        assert {domain.kind for domain in sweep.space.values()} == {kind}


def test_a_summary_has_medians_and_counts() -> None:
    costs = [Cost(4, 8, 2, False), Cost(6, 12, 3, True), Cost(inf, inf, 6, True)]
    told = summary(Way("tpe"), costs, baseline=24)
    assert (told["shared"], told["alone"], told["trials"]) == (6, 12, 3)
    assert (told["ratio"], told["lost"]) == (0.25, 2)


# The grids that were trained


def test_the_recorded_grids_are_whole_and_small() -> None:
    assert FILE.stat().st_size < 300_000
    known = load()
    for sweep in sweeps():
        grid = known[sweep.name]
        assert len(grid.matrices) == sweep.space.size
        for matrices in grid.matrices.values():
            triangle = list(range(1, sweep.run["benchmark"]["n_tasks"] + 1))
            assert [[len(row) for row in R] for R in matrices] == [triangle] * len(SEEDS)


def test_a_search_has_something_to_find_in_them() -> None:
    for grid in load().values():
        reached = sorted(acc(matrices) for matrices in grid.matrices.values())
        assert reached[-1] < 0.995
        assert reached[len(reached) // 2] < reached[-1] - 0.01


def test_a_replay_of_a_recorded_grid_finds_its_best(tmp_path: Path) -> None:
    grid = load()["ppbi_paper_5"]
    sweep = sweep_of(grid.blocks, Way("random", "bound"), 0, 360)
    replay = Replay(grid, sweep, tmp_path, range(len(SEEDS)), 4)
    replay.best = 0.0  # the first that ends will do
    assert replay.run().n_trials == 4
    assert default_of(grid) in ("gp", "tpe")
