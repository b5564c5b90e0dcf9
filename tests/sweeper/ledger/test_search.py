"""The search of a sweep: every configuration once, and when it ends."""

from pathlib import Path
from typing import Any

import optuna
import pytest

from sweeper.config.space import Values
from sweeper.ledger import Ledger, SearchStage, key_of
from tests.sweeper.ledgers import (
    BRANCHED,
    FLOATS,
    GRID,
    all_keys,
    finish_all,
    is_over,
    keys_of,
    opened,
    outcome,
    start,
    started,
    states,
    swept,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


# Each configuration once


@pytest.mark.parametrize("sampler", ["grid", "random", "tpe", "cmaes", "nsga2", "gp", "auto"])
@pytest.mark.parametrize("space", [GRID, BRANCHED], ids=["grid", "branched"])
def test_a_finite_space_is_gone_through_exactly_once(
    tmp_path: Path, space: dict[str, Any], sampler: str
) -> None:
    sweep = swept(space, sampler=sampler)
    assert keys_of(finish_all(opened(tmp_path, sweep))) == all_keys(sweep)


def test_a_sampler_that_has_narrowed_down_still_visits_the_rest(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept({"a": {"int": [1, 25]}}, sampler="tpe"))
    for number, values in started(stage):
        stage.finish(number, outcome(1.0 if values["a"] == 25 else 0.0))
    assert sorted(values["a"] for values in is_over(tmp_path)) == list(range(1, 26))


def test_a_sampler_that_insists_on_a_point_is_given_the_nearest_one(tmp_path: Path) -> None:
    """A Gaussian process told of one peak: what is tried lies around it, not first in the file."""
    space = {path: {"grid": list(range(9))} for path in "ab"}
    stage = opened(tmp_path, swept(space, sampler="gp", trials=30))
    tried = []
    for number, values in started(stage):
        distance = abs(values["a"] - 6) + abs(values["b"] - 6)
        stage.finish(number, outcome(1 - distance / 20))
        tried.append(distance)
    by_chance = 2 * sum(abs(place - 6) for place in range(9)) / 9
    assert sum(tried[20:]) / 10 < 0.6 * by_chance


def test_running_configurations_are_not_given_again(tmp_path: Path) -> None:
    running = [values for _, values in started(opened(tmp_path, swept()))]
    assert len({key_of(values) for values in running}) == 6


def test_a_branch_without_parameters_is_tried_once_in_a_space_without_end(
    tmp_path: Path,
) -> None:
    space = {
        "name": {"choice": ["ft", "lra"]},
        "alpha": {"uniform": [0, 1], "when": {"name": "lra"}},
    }
    stage = opened(tmp_path, swept(space, trials=15))
    for number, values in started(stage):
        stage.finish(number, outcome(1.0 if values["name"] == "ft" else 0.1))
    done = is_over(tmp_path)
    assert sum(values["name"] == "ft" for values in done) == 1
    assert len(done) == 15


def test_a_sweep_without_a_space_is_one_trial(tmp_path: Path) -> None:
    assert finish_all(opened(tmp_path, swept({}))) == [{}]


def test_a_grid_comes_in_the_order_of_the_file(tmp_path: Path) -> None:
    sweep = swept(sampler="grid", trials=4)
    assert finish_all(opened(tmp_path, sweep)) == list(sweep.space.points())[:4]


def test_a_longer_grid_goes_on_where_it_ended(tmp_path: Path) -> None:
    finish_all(opened(tmp_path, swept(sampler="grid", trials=4)))
    longer = swept(sampler="grid")
    assert finish_all(opened(tmp_path, longer)) == list(longer.space.points())[4:]
    assert Ledger(tmp_path).sweep.text == longer.text


def test_first_points_come_first_and_not_again(tmp_path: Path) -> None:
    first = [{"a": 3, "b": "y"}, {"a": 2, "b": "x"}]
    sweep = swept(sampler="grid", first=first)
    done = finish_all(opened(tmp_path, sweep))
    assert done[:2] == first
    assert keys_of(done) == all_keys(sweep)
    assert len(Ledger(tmp_path).trial_records()) == 6


def test_first_points_that_had_no_turn_come_first_after_a_restart(tmp_path: Path) -> None:
    first = [{"x": 0.25, "y": 1e-2}, {"x": 0.75, "y": 1e-3}]
    sweep = swept(FLOATS, first=first, trials=4)
    stage = opened(tmp_path, sweep)
    stage.finish(start(stage)[0], outcome(0.5))
    assert finish_all(opened(tmp_path, sweep))[0] == first[1]


@pytest.mark.parametrize(
    ("space", "first"),
    [
        ({"x": {"uniform": [0, 2]}}, {"x": 1}),
        ({"x": {"grid": [1.0, 2.0]}}, {"x": 1}),
        ({"x": {"choice": [1, 2]}}, {"x": 1.0}),
    ],
)
def test_a_first_point_has_one_key_however_its_numbers_are_written(
    tmp_path: Path, space: dict[str, Any], first: Values
) -> None:
    sweep = swept(space, trials=2, first=[first], sampler="random")
    stage = opened(tmp_path, sweep)
    number, values = start(stage)
    assert key_of(values) == stage.record(number).key
    stage.finish(number, outcome(0.5))
    again = opened(tmp_path, sweep)
    assert start(again)[1] != values


# Journals of old


def written_before(stage: SearchStage, point: Values) -> optuna.Trial:
    """A trial as the journal got it when samplers were asked for the values themselves."""
    stage.study.enqueue_trial(point)
    trial = stage.study.ask()
    trial.suggest_categorical("a", (1, 2, 3))
    trial.suggest_categorical("b", ("x", "y"))
    return trial


@pytest.mark.parametrize("sampler", ["tpe", "cmaes", "random", "grid"])
def test_a_journal_from_before_grids_had_an_order_goes_on(tmp_path: Path, sampler: str) -> None:
    sweep = swept(sampler=sampler)
    stage = opened(tmp_path, sweep)
    trial = written_before(stage, {"a": 3, "b": "y"})
    trial.set_user_attr("outcome", outcome(0.5))
    stage.study.tell(trial, 0.5)
    written_before(stage, {"a": 1, "b": "x"})
    again = opened(tmp_path, sweep)
    assert start(again) == (1, {"a": 1, "b": "x"})
    again.finish(1, outcome(0.4))
    finish_all(again)
    assert keys_of(is_over(tmp_path)) == all_keys(sweep)
    assert states(tmp_path) == ["finished"] * 6


# Ending before all trials are done


def test_a_sweep_ends_when_nothing_better_has_come_for_long_enough(tmp_path: Path) -> None:
    sweep = swept(FLOATS, patience=2, trials=50, sampler="random")
    stage = opened(tmp_path, sweep)
    for acc in (0.5, 0.6, 0.4, 0.6):
        assert stage.wants_more()
        stage.finish(start(stage)[0], outcome(acc))
    assert (stage.n_left, stage.n_wanted) == (0, 4)
    assert not stage.wants_more()
    assert opened(tmp_path, sweep).n_left == 0


def test_patience_counts_trials_in_the_order_of_their_ends_after_a_restart_too(
    tmp_path: Path,
) -> None:
    sweep = swept(FLOATS, patience=2, trials=50, sampler="random")
    stage = opened(tmp_path, sweep)
    numbers = [start(stage)[0] for _ in range(4)]
    for number, acc in zip(reversed(numbers), (0.5, 0.4, 0.9, 0.8), strict=True):
        stage.finish(number, outcome(acc))
    assert stage.n_left == opened(tmp_path, sweep).n_left == 46


def test_failed_trials_do_not_try_patience(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(FLOATS, patience=1, trials=50))
    stage.finish(start(stage)[0], outcome(0.5))
    stage.fail(start(stage)[0], "diverged")
    assert stage.n_left == 48


# Keys


def test_the_key_of_a_configuration_does_not_depend_on_the_order_of_its_values() -> None:
    assert key_of({"a": 1, "b": 2.5}) == key_of({"b": 2.5, "a": 1})
    assert key_of({"a": 1, "b": 2.5}) != key_of({"a": 1, "b": 2.6})


def test_a_record_has_the_key_under_which_its_trial_saves(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(BRANCHED))
    while asked := stage.ask():
        assert stage.record(asked.number).key == asked.key == key_of(asked.what)
