"""The blocks of a file and its overrides: what is read from them, and what cannot be."""

from pathlib import Path

import pytest

from sweeper.config.sweep import load_sweep
from sweeper.errors import SweepError
from tests.sweeper.config.files import GRID, RUN, SPACE, fault_of, loaded


@pytest.mark.parametrize("text", ["1e-5", "1E-5", "1.e-5", "1.0e-5", "0.00001", ".1e-4", "+1e-5"])
def test_a_number_is_a_number_however_it_is_written(tmp_path: Path, text: str) -> None:
    sweep = loaded(tmp_path, f"run: {{x: {text}}}\nspace: {{y: {{log_uniform: [{text}, 1e3]}}}}\n")
    assert sweep.run["x"] == 1e-5
    assert sweep.space["y"].values == (1e-5, 1000.0)


@pytest.mark.parametrize("text", ["'1e-5'", "e5", "1e", "v1e5", "1e-5x"])
def test_a_text_stays_a_text(tmp_path: Path, text: str) -> None:
    assert loaded(tmp_path, f"run: {{x: {text}}}\n").run["x"] == text.strip("'")


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
        ("run.x=[", "run.x=[: the value must be valid YAML, but got '[' ("),
        ("sweep.trails=4", "s.yaml: sweep.trails: there is no key 'trails'; did you mean"),
        ("run.split=test", "s.yaml: run.split: a search may see validation data only"),
    ],
)
def test_an_override_that_cannot_be_is_named(tmp_path: Path, override: str, message: str) -> None:
    with pytest.raises(SweepError) as error:
        loaded(tmp_path, RUN, override)
    assert message in str(error.value)


# Files that cannot be read


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
}


@pytest.mark.parametrize(("text", "message"), MALFORMED.values(), ids=MALFORMED.keys())
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, text: str, message: str) -> None:
    assert message in fault_of(tmp_path, text)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="no.yaml: a readable file .* No such file or directory"):
        load_sweep(tmp_path / "no.yaml")
    (tmp_path / "picture.yaml").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(SweepError, match="picture.yaml: a readable file .* not text"):
        load_sweep(tmp_path / "picture.yaml")
    with pytest.raises(SweepError, match="a readable file must be there"):
        load_sweep(tmp_path)
