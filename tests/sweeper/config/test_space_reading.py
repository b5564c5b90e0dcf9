"""Search spaces that are none: where, what must hold, what was got."""

from pathlib import Path

import pytest

from tests.sweeper.config.files import RUN, SPACE, fault_of

MALFORMED = {
    "space is a list": (
        RUN + "space: [a]",
        "s.yaml: space: must map dotted paths to domains, but got ['a'].",
    ),
    "domain without kind": (
        SPACE + "a: [1, 2]",
        "s.yaml: space.a: must read {kind: [...]}, such as {grid: [1, 2]}; got [1, 2].",
    ),
    "unknown kind": (
        SPACE + "a: {loguniform: [1, 2]}",
        "s.yaml: space.a: must have one kind of grid, choice, uniform, log_uniform, int "
        "(and `when`); got loguniform.",
    ),
    "two kinds": (SPACE + "a: {grid: [1], choice: [1]}", "s.yaml: space.a: must have one kind of"),
    "no values": (
        SPACE + "a: {grid: []}",
        "s.yaml: space.a.grid: must be a list with something in it, but got [].",
    ),
    "nested values": (
        SPACE + "a: {choice: [[8, 8], [16]]}",
        "s.yaml: space.a.choice: every value must be a number, a text, true/false or null, "
        "but got [[8, 8], [16]].",
    ),
    "a date": (SPACE + "a: {choice: [2026-01-01]}", "every value must be a number, a text"),
    "not a number": (
        SPACE + "a: {grid: [1, .nan]}",
        "s.yaml: space.a.grid: every number must be finite, but got [1, nan].",
    ),
    "point twice": (
        SPACE + "a: {grid: [1e-3, 0.001]}",
        "s.yaml: space.a.grid: every value must stand there once, but got [0.001, 0.001].",
    ),
    "true is 1": (SPACE + "a: {choice: [1, true]}", "every value must stand there once"),
    "low above high": (
        SPACE + "a: {log_uniform: [1e-3, 1e-5]}",
        "s.yaml: space.a.log_uniform: low < high must hold, but got [0.001, 1e-05].",
    ),
    "low is high": (SPACE + "a: {int: [3, 3]}", "s.yaml: space.a.int: low < high must hold"),
    "log of 0": (
        SPACE + "a: {log_uniform: [0, 1]}",
        "s.yaml: space.a.log_uniform: low > 0 must hold, but got [0, 1].",
    ),
    "infinite range": (
        SPACE + "a: {uniform: [0, .inf]}",
        "space.a.uniform: both numbers must be finite",
    ),
    "three ends": (
        SPACE + "a: {uniform: [1, 2, 3]}",
        "s.yaml: space.a.uniform: must be [low, high], two numbers, but got [1, 2, 3].",
    ),
    "text in a range": (
        SPACE + "a: {uniform: [low, 1]}",
        "s.yaml: space.a.uniform: must be [low, high], two numbers, but got ['low', 1].",
    ),
    "fractions of an int": (
        SPACE + "a: {int: [1, 2.5]}",
        "s.yaml: space.a.int: must be [low, high], two whole numbers, but got [1, 2.5].",
    ),
    "condition is a text": (
        SPACE + "a: {grid: [1], when: lra}",
        "s.yaml: space.a.when: must map a path to a value or a list, but got 'lra'.",
    ),
    "condition on an unknown path": (
        SPACE + "a: {grid: [1], when: {b: 1}}",
        "s.yaml: space.a.when.b: must be a path of the space that stands before this one.",
    ),
    "condition on a later path": (
        SPACE + "a: {grid: [1], when: {b: 1}}\n  b: {grid: [1]}",
        "s.yaml: space.a.when.b: must be a path of the space that stands before this one.",
    ),
    "condition on itself": (
        SPACE + "a: {grid: [1], when: {a: 1}}",
        "s.yaml: space.a.when.a: must be a path of the space that stands before this one.",
    ),
    "condition on a range": (
        SPACE + "a: {uniform: [0, 1]}\n  b: {grid: [1], when: {a: 1}}",
        "s.yaml: space.b.when.a: must be a grid or a choice, but is uniform.",
    ),
    "condition that never holds": (
        SPACE + "a: {choice: [lra, ppbi]}\n  b: {grid: [1], when: {a: [lra, ewc]}}",
        "s.yaml: space.b.when.a: must be among lra, ppbi, but got ewc.",
    ),
    "condition without values": (
        SPACE + "a: {choice: [lra]}\n  b: {grid: [1], when: {a: []}}",
        "s.yaml: space.b.when.a: must name a value, or this path would never be there.",
    ),
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_space_is_told_where_what_must_hold_and_what_it_has(
    tmp_path: Path, text: str, message: str
) -> None:
    assert message in fault_of(tmp_path, text)
