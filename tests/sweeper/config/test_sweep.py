"""Sweep files: what a sweep is, what may change in it, and how its blocks must fit together."""

from pathlib import Path
from typing import Any

import pytest

from sweeper.config.sweep import Sweep, difference, load_sweep, parse_sweep
from sweeper.errors import SweepError
from tests.sweeper.config.files import GRID, RUN, SPACE, fault_of, loaded


def swept(**settings: Any) -> Sweep:
    blocks = {
        "run": {"method": {"name": "ft"}},
        "space": {"a": {"grid": [1, 2, 3, 4]}},
        "sweep": settings,
    }
    return parse_sweep(blocks, "s")


# What is read


def test_a_file_gives_its_blocks_and_defaults_for_the_rest(tmp_path: Path) -> None:
    sweep = loaded(tmp_path, GRID + "sweep: {sampler: random, trials: 4}\nselect: {top: 2}\n")
    assert (sweep.name, sweep.run["method"]) == ("s", {"name": "ft"})
    assert list(sweep.space) == ["a", "b"]
    assert (sweep.settings.sampler, sweep.settings.trials) == ("random", 4)
    assert (sweep.settings.scheduler, sweep.objective) == ("none", ("acc",))
    assert (sweep.select.top, sweep.select.seeds) == (2, 3)


def test_the_text_of_a_sweep_gives_the_same_sweep_again(tmp_path: Path) -> None:
    text = "run: {x: '1e-5', y: 1e-5, z: [a, null, true, -0.0]}\n"
    sweep = loaded(tmp_path, text + "space: {a: {grid: [1e-3, 1e-10]}}\nsweep: {hours: 0.5}\n")
    again = loaded(tmp_path, sweep.text)
    assert again.blocks == sweep.blocks
    assert difference(sweep, again) == ""


def test_plugins_stand_beside_the_run_and_belong_to_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("plugins: [my_package]\nrun: {seed: 1}\n")
    sweep = load_sweep(file)
    assert sweep.run == {"seed": 1, "plugins": ["my_package"]}
    file.write_text("plugins: [another]\nrun: {seed: 1}\n")
    assert "-- my_package" in difference(sweep, load_sweep(file))


def test_the_selection_goes_by_the_objective_of_the_sweep_or_by_its_own() -> None:
    assert swept(objective=["acc", "bwt"]).select_objective == ("acc", "bwt")
    blocks = {"run": {}, "sweep": {"objective": "acc"}, "select": {"objective": "bwt"}}
    assert parse_sweep(blocks, "s").select_objective == ("bwt",)


@pytest.mark.parametrize(
    ("text", "n_trials"),
    [
        (GRID, 6),
        (GRID + "sweep: {sampler: grid}", 6),
        (GRID + "sweep: {sampler: grid, trials: 4}", 4),
        (GRID + "sweep: {sampler: grid, trials: 100}", 6),
        (GRID + "sweep: {sampler: tpe, trials: 100}", 6),
        (RUN, 1),
        (RUN + "space: {a: {uniform: [0, 1]}}", 64),
        (RUN + "space: {a: {uniform: [0, 1]}}\nsweep: {trials: 7}", 7),
        (RUN + "space: {a: {int: [1, 1000000000]}}", 64),
    ],
)
def test_there_are_as_many_trials_as_asked_for_but_no_more_than_points(
    tmp_path: Path, text: str, n_trials: int
) -> None:
    assert loaded(tmp_path, text).n_trials == n_trials


# What may change between two starts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({}, {}),
        ({"trials": 2}, {"trials": 4}),
        ({"trials": 2}, {}),
        ({"trials": 4}, {"trials": 9}),
        ({"hours": 1}, {"hours": 2}),
        ({"patience": 3}, {}),
        ({}, {"concurrency": 1, "retries": 0, "resources": {"cpu": 2}}),
        ({}, {"notify": {"command": ["tell-me"]}}),
    ],
)
def test_a_longer_sweep_is_the_same_sweep(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert difference(swept(**old), swept(**new)) == ""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ({"trials": 4}, {"trials": 3}, "+  trials: 3"),
        ({}, {"trials": 3}, "+  trials: 3"),
        ({}, {"sampler": "random"}, "+  sampler: random"),
        ({"seed": 1}, {"seed": 2}, "-  seed: 1"),
        ({"objective": "acc"}, {"objective": "bwt"}, "+  objective: bwt"),
        ({}, {"repeats": 2}, "+  repeats: 2"),
    ],
)
def test_any_other_change_is_shown(old: dict[str, Any], new: dict[str, Any], line: str) -> None:
    assert line in difference(swept(**old), swept(**new)).splitlines()


def test_a_change_of_the_run_or_the_space_is_shown_and_one_of_the_selection_is_free() -> None:
    blocks: dict[str, Any] = {"run": {"seed": 1}, "space": {"a": {"grid": [1, 2]}}}
    old = parse_sweep(blocks, "s")
    assert "+  seed: 2" in difference(old, parse_sweep({**blocks, "run": {"seed": 2}}, "s"))
    longer = {**blocks, "space": {"a": {"grid": [1, 2, 3]}}}
    assert "+    - 3" in difference(old, parse_sweep(longer, "s"))
    assert difference(old, parse_sweep({**blocks, "select": {"top": 5}}, "s")) == ""
    reseeded = {**blocks, "select": {"reseed": ["split"]}}  # or reruns would not be alike
    assert "+  - split" in difference(old, parse_sweep(reseeded, "s"))


# Blocks that do not fit together


MALFORMED = {
    "no run": ("space: {}", "s.yaml: a block `run` must be there"),
    "run is a text": ("run: ft", "s.yaml: a block `run` must be there"),
    "unknown block": (RUN + "spce: {}", "s.yaml: no block 'spce'; did you mean 'space'?"),
    "test split": (
        "run: {split: test}",
        "s.yaml: run.split: a search may see validation data only; got 'test'.",
    ),
    "search over the split": (
        SPACE + "split: {choice: [validation, test]}",
        "s.yaml: space.split: a search may see validation data only.",
    ),
    "search over seeds": (
        SPACE + "seed: {int: [0, 9]}",
        "s.yaml: space.seed: seeds are not searched over; repeat trials with sweep.repeats.",
    ),
    "search over class orders": (
        SPACE + "benchmark.class_order: {int: [0, 9]}",
        "s.yaml: space.benchmark.class_order: class orders are not searched over, since the "
        "easiest would win; judge the best on others with select.class_orders.",
    ),
    "class orders of their own that follow the seeds": (
        RUN + "select: {reseed: [split, class_order], class_orders: 2}",
        "s.yaml: select.reseed: class orders must not follow the seeds where select.class_orders "
        "asks for 2 of their own; remove one of them.",
    ),
    "search below a value": (
        SPACE + "method.name.x: {grid: [1]}",
        "s.yaml: space.method.name.x: 'name' must be a block of the run, but is 'ft'.",
    ),
    "each of a misspelt path": (
        SPACE + "method.name: {choice: [ft]}\nselect: {each: [method.nam]}",
        "s.yaml: select.each: method.nam: must be a path of the space; "
        "did you mean 'method.name'?",
    ),
    "each without a space": (
        RUN + "select: {each: [method.name]}",
        "s.yaml: select.each: method.name: must be a path of the space; there is no path in it.",
    ),
    "each of a range": (
        SPACE + "a: {uniform: [0, 1]}\nselect: {each: [a]}",
        "s.yaml: select.each: a: must be a grid or a choice, but is uniform.",
    ),
    "each of a path twice": (
        SPACE + "a: {grid: [0, 1]}\nselect: {each: [a, a]}",
        "s.yaml: select.each: a: must stand there once.",
    ),
    "objective twice": (
        RUN + "sweep: {objective: [acc, acc]}",
        "s.yaml: sweep.objective: each metric must stand there once.",
    ),
    "no objective": (
        RUN + "sweep: {objective: []}",
        "s.yaml: sweep.objective: each metric must stand there once.",
    ),
    "cmaes with two objectives": (
        RUN + "sweep: {sampler: cmaes, objective: [acc, bwt]}",
        "s.yaml: sweep.sampler: cmaes takes one objective, but got 2.",
    ),
    "scheduler with two objectives": (
        RUN + "sweep: {scheduler: asha, objective: [acc, bwt]}",
        "s.yaml: sweep.scheduler: must be none with more than one objective.",
    ),
    "bound of something else than ACC": (
        RUN + "sweep: {scheduler: bound, objective: bwt}",
        "s.yaml: sweep.scheduler: bound needs sweep.objective to be acc, but got bwt; "
        "use another scheduler, or none.",
    ),
    "bound and a choice by something else": (
        RUN + "sweep: {scheduler: bound}\nselect: {objective: [acc, bwt]}",
        "s.yaml: sweep.scheduler: bound needs select.objective to be acc, but got acc and bwt; "
        "use another scheduler, or none.",
    ),
    "patience with two objectives": (
        RUN + "sweep: {patience: 3, objective: [acc, bwt]}",
        "s.yaml: sweep.patience: must be left out with more than one objective.",
    ),
    "grid over a range": (
        SPACE + "a: {uniform: [0, 1]}\nsweep: {sampler: grid}",
        "s.yaml: sweep.sampler: a grid needs points in every domain, but got a range for a; "
        "use `grid: [...]` there or another sampler.",
    ),
    "first point outside": (
        SPACE + "a: {grid: [1, 2]}\nsweep: {first: [{a: 1}, {a: 3}]}",
        "s.yaml: sweep.first[1].a: must be one of 1, 2, but got 3.",
    ),
    "first point without a value": (
        SPACE + "a: {grid: [1, 2]}\nsweep: {first: [{}]}",
        "s.yaml: sweep.first[0].a: a value must be given.",
    ),
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_is_told_where_what_must_hold_and_what_it_has(
    tmp_path: Path, text: str, message: str
) -> None:
    assert message in fault_of(tmp_path, text)


def test_all_faults_of_a_file_and_its_overrides_come_at_once(tmp_path: Path) -> None:
    text = """
run: {split: test}
space:
  a: {grid: [1, 1]}
  b: {log_uniform: [0, 1]}
  c: {grid: [1], when: {d: 1}}
sweep: {trails: 3, sampler: bayes, objective: [acc, acc]}
select: {top: many}
extra: 1
"""
    with pytest.raises(SweepError) as error:
        loaded(tmp_path, text, "sweep.x", "sweep.hours=-1")
    lines = str(error.value).splitlines()
    places = ("sweep.x:", "'extra'", "run.split", "space.a.", "space.b.", "space.c.")
    settings = ("sweep.trails", "sweep.sampler", "sweep.hours", "sweep.objective", "select.top")
    for place in (*places, *settings):
        assert sum(place in line for line in lines) == 1, place
    assert len(lines) == len(places) + len(settings)
