"""Sweep files: what is read from them, and what a person is told who got one wrong."""

from pathlib import Path
from typing import Any

import pytest

from sweeper.config.sweep import Sweep, difference, load_sweep, parse_sweep
from sweeper.errors import SweepError

RUN = "run: {method: {name: ft}}\n"
GRID = RUN + "space: {a: {grid: [1, 2]}, b: {grid: [1, 2, 3]}}\n"


def loaded(tmp_path: Path, text: str, *overrides: str) -> Sweep:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    return load_sweep(file, overrides)


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


@pytest.mark.parametrize("text", ["1e-5", "1E-5", "1.e-5", "1.0e-5", "0.00001", ".1e-4", "+1e-5"])
def test_a_number_is_a_number_however_it_is_written(tmp_path: Path, text: str) -> None:
    sweep = loaded(tmp_path, f"run: {{x: {text}}}\nspace: {{y: {{log_uniform: [{text}, 1e3]}}}}\n")
    assert sweep.run["x"] == 1e-5
    assert sweep.space["y"].values == (1e-5, 1000.0)


@pytest.mark.parametrize("text", ["'1e-5'", "e5", "1e", "v1e5", "1e-5x"])
def test_a_text_stays_a_text(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, f"run: {{x: {text}}}\n").run["x"] == text.strip("'")


def test_the_text_of_a_sweep_gives_the_same_sweep_again(tmp_path: Path) -> None:
    text = "run: {x: '1e-5', y: 1e-5, z: [a, null, true, -0.0]}\n"
    sweep = loaded(tmp_path, text + "space: {a: {grid: [1e-3, 1e-10]}}\nsweep: {hours: 0.5}\n")
    again = loaded(tmp_path, sweep.text)
    assert again.blocks == sweep.blocks
    assert difference(sweep, again) == ""


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


# Overrides


def test_overrides_reach_every_block_and_read_numbers_as_the_file_does(tmp_path: Path) -> None:
    sweep = loaded(
        tmp_path,
        GRID,
        "run.epochs=5",
        "run.method.tau_0=1e-5",
        "space.method.tau_max={grid: [1e-3, 1e-4]}",
        "sweep.resources.gpu=0.5",
        "select.top=0",
    )
    assert sweep.run == {"method": {"name": "ft", "tau_0": 1e-5}, "epochs": 5}
    assert sweep.space["method.tau_max"].values == (1e-3, 1e-4)
    assert (sweep.settings.resources.gpu, sweep.select.top) == (0.5, 0)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("sweep.trials", "sweep.trials: must read block.key=value"),
        ("trials=4", "trials=4: must read block.key=value"),
        ("swep.trials=4", "swep.trials=4: must read block.key=value"),
        ("sweep=4", "sweep=4: must read block.key=value"),
        ("run.method.name.x=4", "run.method.name.x=4: 'name' must be a block, but is 'ft'."),
        ("run.x=[", "run.x=[: the value must be valid YAML, but got '['."),
        ("sweep.trails=4", "s.yaml: sweep.trails: there is no key 'trails'; did you mean"),
        ("run.split=test", "s.yaml: run.split: a search may see validation data only"),
    ],
)
def test_an_override_that_cannot_be_is_named(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(SweepError) as error:
        loaded(tmp_path, RUN, override)
    assert message in str(error.value)


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


# Malformed files, each with its message

SPACE = RUN + "space:\n  "
MALFORMED = {
    "empty file": ("", "must hold the blocks run, space, sweep, select, but got None."),
    "not a mapping": ("- run", "must hold the blocks run, space, sweep, select, but got ['run']."),
    "broken YAML": ("run: [", "valid YAML must be there, but while parsing a flow node"),
    "a tab": (RUN + "\tspace: 1", "valid YAML must be there, but while scanning"),
    "a Python object": ("run: !!python/name:os.system", "valid YAML must be there, but could not"),
    "key twice": (
        SPACE + "a: {grid: [1]}\n  a: {grid: [2]}",
        "valid YAML must be there, but a stands twice in a block",
    ),
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
    "search below a value": (
        SPACE + "method.name.x: {grid: [1]}",
        "s.yaml: space.method.name.x: 'name' must be a block of the run, but is 'ft'.",
    ),
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
    "infinite range": (SPACE + "a: {uniform: [0, .inf]}", "space.a.uniform: low < high must hold"),
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
    "misspelt key": (
        RUN + "sweep: {trails: 3}",
        "s.yaml: sweep.trails: there is no key 'trails'; did you mean 'trials'?",
    ),
    "key that is far from all": (
        RUN + "select: {zzz: 3}",
        "s.yaml: select.zzz: there is no key 'zzz'; "
        "there is at_least, each, objective, seeds, top.",
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
    "each is a text": (
        SPACE + "a: {grid: [0, 1]}\nselect: {each: a}",
        "s.yaml: select.each: input should be a valid list, but got 'a'.",
    ),
    "misspelt resource": (
        RUN + "sweep: {resources: {gpus: 1}}",
        "s.yaml: sweep.resources.gpus: there is no key 'gpus'; did you mean 'gpu'?",
    ),
    "sweep is a number": (
        RUN + "sweep: 5",
        "s.yaml: sweep: must be a block of keys and values, but got 5.",
    ),
    "bad sampler": (
        RUN + "sweep: {sampler: bayes}",
        "s.yaml: sweep.sampler: input should be 'grid', 'random', 'tpe', 'cmaes' or 'nsga2', "
        "but got 'bayes'.",
    ),
    "bad scheduler": (
        RUN + "sweep: {scheduler: hyperband}",
        "s.yaml: sweep.scheduler: input should be 'none', 'asha' or 'median', "
        "but got 'hyperband'.",
    ),
    "negative trials": (
        RUN + "sweep: {trials: -1}",
        "s.yaml: sweep.trials: input should be greater than or equal to 1, but got -1.",
    ),
    "text for a number": (
        RUN + "sweep: {hours: soon}",
        "s.yaml: sweep.hours: input should be a valid number, unable to parse string as a number, "
        "but got 'soon'.",
    ),
    "half a trial": (
        RUN + "sweep: {trials: 1.5}",
        "s.yaml: sweep.trials: input should be a valid",
    ),
    "negative resources": (
        RUN + "sweep: {resources: {cpu: -1}}",
        "s.yaml: sweep.resources.cpu: input should be greater than or equal to 0, but got -1.",
    ),
    "unknown objective": (
        RUN + "sweep: {objective: loss}",
        "s.yaml: sweep.objective: input should be 'acc' or 'bwt', but got 'loss'.",
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
    "first points not in a list": (
        SPACE + "a: {grid: [1, 2]}\nsweep: {first: {a: 1}}",
        "s.yaml: sweep.first: input should be a valid list, but got {'a': 1}.",
    ),
    "no seeds": (
        RUN + "select: {seeds: 0}",
        "s.yaml: select.seeds: input should be greater than or equal to 1, but got 0.",
    ),
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_file_is_told_where_what_must_hold_and_what_it_has(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(SweepError, match=r"s\.yaml") as error:
        loaded(tmp_path, text)
    assert message in str(error.value)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="no.yaml: a readable file .* No such file or directory"):
        load_sweep(tmp_path / "no.yaml")
    (tmp_path / "picture.yaml").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(SweepError, match="picture.yaml: a readable file .* not text"):
        load_sweep(tmp_path / "picture.yaml")
    with pytest.raises(SweepError, match="a readable file must be there"):
        load_sweep(tmp_path)


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
