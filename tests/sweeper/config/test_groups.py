"""Groups of trials, by hand."""

from itertools import product
from typing import Any

import pytest

from sweeper.config.groups import Group, are_one_apart, group_of, groups_of
from sweeper.config.space import SearchSpace
from sweeper.config.space_reading import parse_space
from sweeper.config.sweep import parse_sweep

SPACE: dict[str, Any] = {
    "x": {"uniform": [0, 1]},
    "name": {"choice": ["ft", "lra", "ppbi"]},
    "measure": {"choice": ["var", "snr"], "when": {"name": ["lra", "ppbi"]}},
    "alpha": {"grid": [1, 2, 3], "when": {"name": "lra"}},
    "deep": {"choice": [True, None], "when": {"measure": "snr"}},
}


def space_of(raw: dict[str, Any] = SPACE) -> SearchSpace:
    faults: list[str] = []
    space = parse_space(raw, "space", faults)
    assert faults == []
    return space


def sweep_of(**blocks: Any) -> Any:
    return parse_sweep({"run": {}, "space": SPACE, **blocks}, "s")


def test_a_path_whose_condition_does_not_hold_is_not_there() -> None:
    assert groups_of(space_of(), ["name", "measure"]) == [
        (("name", "ft"),),
        (("name", "lra"), ("measure", "var")),
        (("name", "lra"), ("measure", "snr")),
        (("name", "ppbi"), ("measure", "var")),
        (("name", "ppbi"), ("measure", "snr")),
    ]


def test_null_is_a_value_and_not_the_absence_of_one() -> None:
    assert groups_of(space_of(), ["deep"]) == [(), (("deep", True),), (("deep", None),)]


def test_without_paths_there_is_one_group() -> None:
    assert groups_of(space_of(), []) == [()]
    assert groups_of(SearchSpace(), []) == [()]


@pytest.mark.parametrize("paths", list(product(["name", "measure", "alpha", "deep"], repeat=2)))
def test_the_groups_of_a_space_are_those_of_all_its_points(paths: tuple[str, str]) -> None:
    finite = space_of({**SPACE, "x": {"grid": [0, 1]}})
    expected = {group_of(point, paths) for point in finite.points()}
    found = groups_of(space_of(), paths)
    assert set(found) == expected
    assert len(found) == len(expected)


@pytest.mark.parametrize(
    ("a", "b", "is_so"),
    [
        ({"name": "lra", "measure": "var"}, {"name": "lra", "measure": "snr"}, True),
        ({"name": "lra", "measure": "var"}, {"name": "ppbi", "measure": "var"}, True),
        ({"name": "lra", "measure": "var"}, {"name": "ppbi", "measure": "snr"}, False),
        ({"name": "lra", "measure": "var"}, {"name": "ft"}, True),
        ({"name": "lra"}, {"name": "lra", "measure": "var"}, False),
        ({"name": "lra"}, {"name": "lra"}, False),
    ],
)
def test_groups_are_one_apart_if_they_differ_in_one_of_the_values_that_both_have(
    a: dict[str, Any], b: dict[str, Any], is_so: bool
) -> None:
    first: Group = tuple(a.items())
    second: Group = tuple(b.items())
    assert are_one_apart(first, second) == are_one_apart(second, first) == is_so


@pytest.mark.parametrize(
    ("select", "n_reruns"),
    [
        ({"top": 2, "seeds": 3}, 6),
        ({"top": 2, "seeds": 3, "each": ["name"]}, 3 * 2 * 3),
        ({"top": 1, "seeds": 5, "each": ["name", "measure"]}, 5 * 5),
        ({"top": 0, "each": ["name"]}, 0),
        ({"top": 9, "seeds": 2, "each": ["name", "measure"]}, 10 * 2),  # no more than trials
        ({"top": 2, "seeds": 3, "class_orders": 4}, 2 * (3 + 4)),
        ({"top": 0, "class_orders": 4}, 0),
    ],
)
def test_there_are_at_most_groups_times_top_times_seeds_and_orders_reruns(
    select: dict[str, Any], n_reruns: int
) -> None:
    assert sweep_of(sweep={"trials": 10}, select=select).n_reruns == n_reruns
