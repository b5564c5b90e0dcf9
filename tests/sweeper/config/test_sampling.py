"""Which sampler searches: the one that was named, or what suits space and budget."""

from typing import Any

import pytest

from sweeper.config.sampling import chosen_sampler
from sweeper.config.settings import SweepSettings
from sweeper.config.space_reading import parse_space

ORDERED: dict[str, Any] = {
    "x": {"log_uniform": [1e-5, 1]},
    "n": {"int": [1, 90]},
    "tau": {"grid": [1e-3, 1e-4, 0]},
}
TEXTS: dict[str, Any] = {**ORDERED, "scale": {"grid": ["rank", "log"]}}
CHOICE: dict[str, Any] = {**ORDERED, "k": {"choice": [1, 2]}}
FIXED: dict[str, Any] = {**ORDERED, "name": {"choice": ["lra"]}}
CONDITION: dict[str, Any] = {**ORDERED, "y": {"uniform": [0, 1], "when": {"tau": 0}}}
POINTS: dict[str, Any] = {"a": {"grid": [1, 2, 3]}, "b": {"choice": ["x", "y"]}}


def chosen(space: dict[str, Any], **settings: Any) -> tuple[str, str]:
    return chosen_sampler(SweepSettings(**settings), parse_space(space, "space", []))


@pytest.mark.parametrize("sampler", ["random", "tpe", "cmaes", "nsga2"])
@pytest.mark.parametrize("space", [ORDERED, CHOICE, CONDITION, POINTS])
def test_a_sampler_that_was_named_is_taken(space: dict[str, Any], sampler: str) -> None:
    assert chosen(space, sampler=sampler) == (sampler, "")


@pytest.mark.parametrize("space", [ORDERED, FIXED])
def test_a_gaussian_process_takes_all_that_has_an_order(space: dict[str, Any]) -> None:
    assert chosen(space, sampler="gp", trials=1000) == ("gp", "")


@pytest.mark.parametrize(
    ("space", "reason"),
    [
        (TEXTS, "instead of gp: scale has no order"),
        (CHOICE, "instead of gp: k has no order"),
        (CONDITION, "instead of gp: y has a condition"),
    ],
)
def test_a_gaussian_process_gives_way_to_tpe_and_says_why(
    space: dict[str, Any], reason: str
) -> None:
    assert chosen(space, sampler="gp") == ("tpe", reason)


@pytest.mark.parametrize(
    ("space", "settings", "name", "reason"),
    [
        (POINTS, {}, "grid", "auto: all 6 points fit into the trials"),
        (POINTS, {"trials": 6}, "grid", "auto: all 6 points fit into the trials"),
        (POINTS, {"trials": 5}, "tpe", "auto: b has no order"),
        (ORDERED, {}, "gp", "auto: all paths are ordered, at most 250 trials"),
        (ORDERED, {"trials": 250}, "gp", "auto: all paths are ordered, at most 250 trials"),
        (ORDERED, {"trials": 251}, "tpe", "auto: gp is for at most 250 trials"),
        (CONDITION, {}, "tpe", "auto: y has a condition"),
        ({}, {}, "grid", "auto: all 1 points fit into the trials"),
    ],
)
def test_auto_takes_what_suits_space_and_budget(
    space: dict[str, Any], settings: dict[str, Any], name: str, reason: str
) -> None:
    assert chosen(space, sampler="auto", **settings) == (name, reason)
