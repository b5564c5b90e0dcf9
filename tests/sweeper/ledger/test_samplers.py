"""Samplers: values from the space, with the conditions kept, whatever Optuna is asked for."""

import logging
from collections.abc import Iterator
from typing import Any, get_args

import optuna
import pytest

from sweeper.config.settings import Sampler
from sweeper.config.space import SearchSpace, Values
from sweeper.config.space_reading import parse_space
from sweeper.ledger.samplers import (
    build_sampler,
    distributions,
    distributions_of_places,
    places,
    suggest,
)

SPACE: dict[str, Any] = {
    "name": {"choice": ["lra", "ppbi", None]},
    "alpha": {"log_uniform": [1e-5, 1], "when": {"name": "lra"}},
    "tau": {"grid": [1e-3, 1e-4], "when": {"name": ["ppbi"]}},
    "x": {"uniform": [-1, 1]},
    "n": {"int": [1, 3]},
}
every_sampler = pytest.mark.parametrize("name", get_args(Sampler))


def space_of(raw: dict[str, Any]) -> SearchSpace:
    return parse_space(raw, "space", [])


def told(name: Sampler, space: SearchSpace, seed: int, n_trials: int) -> Iterator[Values]:
    """What a sampler suggests when each value of x is as good as it is large."""
    study = optuna.create_study(directions=["maximize"], sampler=build_sampler(name, space, seed))
    for _ in range(n_trials):
        trial = study.ask()
        values = suggest(space, trial)
        study.tell(trial, values.get("x", 0.0))
        yield values


@every_sampler
def test_every_suggestion_is_a_point_of_the_space(name: Sampler) -> None:
    space = space_of(SPACE)
    points = list(told(name, space, 0, 15))
    assert [space.faults(point) for point in points] == [[]] * 15


@every_sampler
def test_the_seed_decides(name: Sampler) -> None:
    space = space_of(SPACE)
    assert list(told(name, space, 3, 5)) == list(told(name, space, 3, 5))
    assert list(told(name, space, 3, 5)) != list(told(name, space, 4, 5))


@every_sampler
def test_nothing_is_warned_of_that_nobody_can_act_on(
    name: Sampler, caplog: pytest.LogCaptureFixture
) -> None:
    optuna.logging.enable_propagation()
    try:
        with caplog.at_level(logging.WARNING):
            list(told(name, space_of(SPACE), 0, 12))
    finally:
        optuna.logging.disable_propagation()
    assert caplog.messages == []


@pytest.mark.parametrize("name", ["tpe", "cmaes"])
def test_what_was_told_is_learned_from(name: Sampler) -> None:
    space = space_of({"x": {"uniform": [-1, 1]}, "y": {"uniform": [-1, 1]}})
    points = list(told(name, space, 0, 60))
    later = [point["x"] for point in points[40:]]
    assert sum(later) / len(later) > 0.4


def test_tpe_keeps_away_from_what_is_running() -> None:
    space = space_of({"x": {"uniform": [-1, 1]}})
    study = optuna.create_study(direction="maximize", sampler=build_sampler("tpe", space, 0))
    for _ in range(12):
        trial = study.ask()
        study.tell(trial, -abs(suggest(space, trial)["x"] - 0.5))
    running = [suggest(space, study.ask())["x"] for _ in range(8)]
    assert len(set(running)) == 8
    assert max(running) - min(running) > 0.1


BEST, N_POINTS = 30, 40


def distance_of_later_trials(name: Sampler, kind: str, seed: int) -> float:
    """How far from the best point, in steps of the grid, a sampler draws after 20 trials."""
    grid = [10.0**-k for k in range(N_POINTS)]
    space = space_of({path: {kind: grid} for path in "ab"})
    study = optuna.create_study(direction="maximize", sampler=build_sampler(name, space, seed))
    distances = []
    for _ in range(40):
        trial = study.ask()
        values = suggest(space, trial)
        distances.append(sum(abs(grid.index(value) - BEST) for value in values.values()) / 2)
        study.tell(trial, -distances[-1])
    return sum(distances[20:]) / 20


@pytest.mark.parametrize("name", ["tpe", "cmaes"])
def test_a_grid_is_searched_better_than_a_choice_of_the_same_numbers(name: Sampler) -> None:
    grid, choice = (
        sum(distance_of_later_trials(name, kind, seed) for seed in range(5))
        for kind in ("grid", "choice")
    )
    assert grid < 0.85 * choice


def test_a_gaussian_process_searches_a_grid_better_than_chance() -> None:
    by_chance = sum(abs(place - BEST) for place in range(N_POINTS)) / N_POINTS
    assert distance_of_later_trials("gp", "grid", 0) < 0.7 * by_chance


def test_a_place_is_where_a_value_stands_by_size() -> None:
    space = space_of({"a": {"grid": [1e-3, 10, 0]}, "b": {"choice": [3, 2]}, "c": {"int": [5, 9]}})
    values = {"a": 1e-3, "b": 2, "c": 7}
    assert places(space, values) == {"a": 1, "b": 2, "c": 7}


def test_the_answers_that_a_sampler_gave_are_the_places_of_its_values() -> None:
    space = space_of(SPACE)
    study = optuna.create_study(sampler=build_sampler("random", space, 0))
    for _ in range(10):
        trial = study.ask()
        assert places(space, suggest(space, trial)) == trial.params


def test_the_journal_says_that_a_value_is_one_of_those_of_the_file() -> None:
    space = space_of(SPACE)
    found = distributions(space, {"tau": 1e-3, "n": 2})
    assert found["tau"] == optuna.distributions.CategoricalDistribution((1e-3, 1e-4))
    assert found["n"] == optuna.distributions.IntDistribution(1, 3)


def test_distributions_are_those_that_a_suggestion_asks_for() -> None:
    space = space_of(SPACE)
    study = optuna.create_study(sampler=build_sampler("random", space, 0))
    for _ in range(10):
        trial = study.ask()
        values = suggest(space, trial)
        assert distributions_of_places(space, values) == trial.distributions


def test_values_have_the_types_of_the_space_where_a_queued_point_has_others() -> None:
    space = space_of({"x": {"uniform": [0, 2]}, "y": {"grid": [1.0, 2.0]}})
    study = optuna.create_study()
    study.enqueue_trial({"x": 1, "y": 1})
    values = suggest(space, study.ask())
    assert {path: type(value) for path, value in values.items()} == {"x": float, "y": float}
