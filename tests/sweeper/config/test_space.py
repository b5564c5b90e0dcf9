"""Search spaces: what they hold, which of their points there are, and what is no point."""

from itertools import islice, product
from random import Random
from typing import Any

import pytest

from sweeper.config.space import Domain, SearchSpace, Values, with_values
from sweeper.config.space_reading import parse_space

BRANCHED = {
    "method.name": {"choice": ["lra", "ppbi", "ft"]},
    "method.alpha": {"grid": [1, 2], "when": {"method.name": "lra"}},
    "method.tau": {"int": [3, 5], "when": {"method.name": ["ppbi", "ft"]}},
    "rho": {"grid": [-10, -12]},
}


def space_of(raw: dict[str, Any]) -> SearchSpace:
    faults: list[str] = []
    space = parse_space(raw, "space", faults)
    assert faults == []
    return space


def domain_of(kind: str, *values: Any) -> Domain:
    return Domain(kind, values, {})


def naive_points(space: SearchSpace) -> list[Values]:
    """Every combination, cut down to what exists, each once."""
    found: list[Values] = []
    for chosen in product(*(domain.points or () for domain in space.values())):
        point: Values = {}
        for (path, domain), value in zip(space.items(), chosen, strict=True):
            if all(point.get(other) in allowed for other, allowed in domain.when.items()):
                point[path] = value
        if point not in found:
            found.append(point)
    return found


# Domains


@pytest.mark.parametrize(
    ("domain", "is_ordered"),
    [
        (domain_of("grid", 3, 0.5), True),
        (domain_of("grid", "a", "b"), False),
        (domain_of("grid", 1, "b"), False),
        (domain_of("grid", True, False), False),
        (domain_of("grid", 1, None), False),
        (domain_of("choice", 1, 2), False),
        (domain_of("int", 1, 2), True),
        (domain_of("uniform", 0, 1), True),
        (domain_of("log_uniform", 1, 2), True),
    ],
)
def test_numbers_have_an_order_unless_they_are_a_choice(domain: Domain, is_ordered: bool) -> None:
    assert domain.is_ordered == is_ordered


@pytest.mark.parametrize(
    ("domain", "a", "b", "distance"),
    [
        (domain_of("grid", 1e-8, 1, 1e-3), 1e-8, 1e-3, 0.5),
        (domain_of("grid", 1e-8, 1, 1e-3), 1, 1e-8, 1.0),
        (domain_of("grid", 7), 7, 7, 0.0),
        (domain_of("grid", "a", "b", "c"), "a", "b", 1.0),
        (domain_of("choice", 1, 2, 3), 1, 2, 1.0),
        (domain_of("choice", 1, 2, 3), 2, 2, 0.0),
        (domain_of("int", 2, 6), 3, 5, 0.5),
        (domain_of("uniform", 0, 4), 1.0, 2.0, 0.25),
        (domain_of("log_uniform", 1e-4, 1), 1e-3, 1e-1, 0.5),
    ],
)
def test_values_are_apart_by_a_part_of_their_domain(
    domain: Domain, a: Any, b: Any, distance: float
) -> None:
    assert domain.distance(a, b) == pytest.approx(distance)


def test_points_are_apart_by_all_their_paths() -> None:
    space = space_of(BRANCHED)
    point = {"method.name": "lra", "method.alpha": 1, "rho": -10}
    assert space.distance(point, point) == 0
    assert space.distance(point, {**point, "rho": -12}) == 1
    other = {"method.name": "ft", "method.tau": 4, "rho": -10}
    assert space.distance(point, other) == 3  # another name, no alpha, a tau


@pytest.mark.parametrize(
    ("domain", "points"),
    [
        (domain_of("grid", 1, 2), [1, 2]),
        (domain_of("choice", "a", None, True), ["a", None, True]),
        (domain_of("int", -1, 2), [-1, 0, 1, 2]),
    ],
)
def test_a_domain_with_an_end_lists_its_values_in_order(
    domain: Domain, points: list[object]
) -> None:
    assert domain.points is not None
    assert list(domain.points) == points


@pytest.mark.parametrize("kind", ["uniform", "log_uniform"])
def test_a_range_of_numbers_has_no_list(kind: str) -> None:
    assert domain_of(kind, 0.1, 1.0).points is None


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (domain_of("grid", 1e-3, 1e-4), 1e-3),
        (domain_of("grid", 1.0, 2.0), 1),
        (domain_of("choice", "a", None), None),
        (domain_of("choice", True, False), False),
        (domain_of("uniform", 0, 1), 0),
        (domain_of("log_uniform", 1e-5, 1e-3), 1e-3),
        (domain_of("int", 1, 3), 3),
    ],
)
def test_a_value_of_the_domain_has_no_fault(domain: Domain, value: object) -> None:
    assert domain.fault(value) is None


@pytest.mark.parametrize(
    ("domain", "value", "fault"),
    [
        (domain_of("grid", 1, 2), 3, "must be one of 1, 2"),
        (domain_of("grid", 1, 2), True, "must be one of 1, 2"),
        (domain_of("choice", True, False), 1, "must be one of True, False"),
        (domain_of("choice", "a"), ["a"], "must be one of a"),
        (domain_of("uniform", 0, 1), 1.5, "must lie in [0, 1]"),
        (domain_of("uniform", 0, 1), float("nan"), "must lie in [0, 1]"),
        (domain_of("uniform", 0, 1), True, "must lie in [0, 1]"),
        (domain_of("uniform", 0, 1), "0.5", "must lie in [0, 1]"),
        (domain_of("int", 1, 3), 2.0, "must be a whole number in [1, 3]"),
        (domain_of("int", 1, 3), 4, "must be a whole number in [1, 3]"),
    ],
)
def test_any_other_value_is_told_what_must_hold(domain: Domain, value: object, fault: str) -> None:
    assert domain.fault(value) == fault


@pytest.mark.parametrize(
    ("domain", "value", "typed"),
    [
        (domain_of("uniform", 0, 2), 1, 1.0),
        (domain_of("grid", 1.0, 2.0), 1, 1.0),
        (domain_of("grid", 1, 2), 1.0, 1),
        (domain_of("int", 0, 2), 1, 1),
        (domain_of("choice", "a", "b"), "b", "b"),
    ],
)
def test_a_value_is_given_the_type_that_the_sampler_gives(
    domain: Domain, value: object, typed: object
) -> None:
    result = domain.typed(value)
    assert (result, type(result)) == (typed, type(typed))


# Conditions


@pytest.mark.parametrize(
    ("values", "is_active"),
    [
        ({"a": 1}, True),
        ({"a": 2}, True),
        ({"a": 3}, False),
        ({"a": True}, False),
        ({}, False),
        ({"a": 1, "b": 5}, True),
    ],
)
def test_a_path_exists_where_its_condition_holds(values: Values, is_active: bool) -> None:
    assert Domain("grid", (1,), {"a": (1, 2)}).is_active(values) is is_active


def test_all_conditions_must_hold() -> None:
    domain = Domain("grid", (1,), {"a": (1,), "b": (None,)})
    assert domain.is_active({"a": 1, "b": None})
    assert not domain.is_active({"a": 1})
    assert not domain.is_active({"b": None})


def test_a_condition_on_a_path_that_is_not_there_does_not_hold() -> None:
    chained = {
        "a": {"choice": [1, 2]},
        "b": {"choice": ["x"], "when": {"a": 1}},
        "c": {"grid": [7, 8], "when": {"b": "x"}},
    }
    assert list(space_of(chained).points()) == [
        {"a": 1, "b": "x", "c": 7},
        {"a": 1, "b": "x", "c": 8},
        {"a": 2},
    ]


# Points, size, corners


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"a": {"grid": [1]}},
        {"a": {"int": [0, 3]}, "b": {"choice": ["x", "y"]}},
        BRANCHED,
        {
            "a": {"choice": [0, 1]},
            "b": {"choice": [0, 1], "when": {"a": 1}},
            "c": {"int": [1, 3], "when": {"a": 1, "b": 0}},
            "d": {"grid": [1, 2, 3]},
        },
    ],
    ids=["empty", "one point", "plain", "branched", "chained"],
)
def test_points_are_all_combinations_that_exist_each_once_and_size_counts_them(
    raw: dict[str, Any],
) -> None:
    space = space_of(raw)
    points = naive_points(space)
    assert list(space.points()) == points
    assert space.size == len(points)


def test_points_come_in_the_order_of_the_file_the_last_path_fastest() -> None:
    space = space_of({"b": {"grid": [2, 1]}, "a": {"grid": [5, 6]}})
    assert list(space.points()) == [
        {"b": 2, "a": 5},
        {"b": 2, "a": 6},
        {"b": 1, "a": 5},
        {"b": 1, "a": 6},
    ]


def test_a_range_makes_a_space_without_end() -> None:
    assert space_of({**BRANCHED, "x": {"uniform": [0, 1]}}).size is None


def test_a_vast_space_is_counted_and_begun_without_being_listed() -> None:
    space = space_of({**BRANCHED, "a": {"int": [1, 10**9]}, "b": {"int": [1, 10**9]}})
    assert space.size == (2 + 3 + 3) * 2 * 10**18
    assert len(list(islice(space.points(), 3))) == 3


def test_corners_show_every_choice_and_both_ends_of_every_range() -> None:
    space = space_of({**BRANCHED, "x": {"log_uniform": [0.1, 1.0], "when": {"method.name": "ft"}}})
    corners = list(space.corners())
    assert [space.faults(corner) for corner in corners] == [[]] * len(corners)
    shown = {(path, value) for corner in corners for path, value in corner.items()}
    assert shown == {
        *(("method.name", name) for name in ("lra", "ppbi", "ft")),
        *(("method.alpha", value) for value in (1, 2)),
        *(("method.tau", value) for value in (3, 5)),
        *(("rho", value) for value in (-10, -12)),
        *(("x", value) for value in (0.1, 1.0)),
    }


def test_an_empty_space_has_one_corner_so_that_the_run_itself_is_checked() -> None:
    assert list(SearchSpace().corners()) == [{}]


def test_drawn_points_belong_to_the_space_and_reach_all_of_it() -> None:
    space = space_of({**BRANCHED, "x": {"log_uniform": [1e-4, 1.0]}, "y": {"uniform": [0, 1]}})
    random = Random(0)
    points = [space.drawn(random) for _ in range(200)]
    assert [space.faults(point) for point in points] == [[]] * 200
    assert {point["method.name"] for point in points} == {"lra", "ppbi", "ft"}
    assert 60 < sum(point["x"] < 1e-2 for point in points) < 140


# Faults of a point


@pytest.mark.parametrize(
    ("point", "faults"),
    [
        ({"method.name": "lra", "method.alpha": 1, "rho": -10}, []),
        ({"method.name": "ft", "method.tau": 3, "rho": -12}, []),
        (
            {"method.name": "lra", "rho": -10},
            ["method.alpha: a value must be given"],
        ),
        (
            {"method.name": "lra", "method.alpha": 1, "method.tau": 3, "rho": -10},
            ["method.tau: has no place here, its condition does not hold"],
        ),
        (
            {"method.name": "lra", "method.alpha": 9, "rho": -10, "epochs": 1},
            ["epochs: is not in the space", "method.alpha: must be one of 1, 2, but got 9"],
        ),
    ],
)
def test_the_faults_of_a_point_are_all_named(point: Values, faults: list[str]) -> None:
    assert space_of(BRANCHED).faults(point) == faults


# Into a run


def test_values_go_to_their_places_and_the_run_stays_as_it_was() -> None:
    run = {"method": {"name": "lra", "tau_0": 1}, "seed": 3}
    changed = with_values(run, {"method.tau_0": 2, "layers.rho": -10, "epochs": 5})
    assert changed == {
        "method": {"name": "lra", "tau_0": 2},
        "seed": 3,
        "layers": {"rho": -10},
        "epochs": 5,
    }
    assert run == {"method": {"name": "lra", "tau_0": 1}, "seed": 3}
