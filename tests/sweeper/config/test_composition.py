"""A file that goes on from another: a sweep like any other, for everyone who reads it."""

from pathlib import Path

import pytest

from mpnet.config import load_run
from mpnet.reading import parse_yaml
from sweeper.config.folder import Choice, read_folder
from sweeper.config.sweep import difference, load_sweep
from sweeper.errors import SweepError

SPACES = Path(__file__).parents[3] / "search_spaces"
EXAMPLE = "ppbi_permuted_mnist"

BASE = """
run:
  benchmark: {name: digits}
  network: {name: mlp, hidden: [50]}
  method: {name: ppbi, measure: var}
  training: {epochs: 20, batch_size: 50}
space:
  method.tau_0: {log_uniform: [1e-8, 1e-3]}
  method.tau_max: {log_uniform: [1e-7, 1e-2]}
sweep: {sampler: tpe, trials: 32}
select: {top: 1, seeds: 3}
"""
TOP = """
from: base.yaml
run: {method: {name: ft}, training: {epochs: 5}}
space: {method.tau_max: null}
sweep: {trials: 4}
"""
WHOLE = """
run:
  benchmark: {name: digits}
  network: {name: mlp, hidden: [50]}
  method: {name: ft}
  training: {epochs: 5, batch_size: 50}
space:
  method.tau_0: {log_uniform: [1e-8, 1e-3]}
sweep: {sampler: tpe, trials: 4}
select: {top: 1, seeds: 3}
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name, text in (("base", BASE), ("top", TOP), ("whole", WHOLE)):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path / "top.yaml"


def test_a_composed_file_is_the_sweep_that_it_would_be_if_it_were_whole(top: Path) -> None:
    composed, whole = load_sweep(top), load_sweep(top.with_stem("whole"))
    assert composed.name == "top"
    assert composed.text == whole.text
    assert (composed.run, composed.space) == (whole.run, whole.space)
    assert (composed.settings, composed.select) == (whole.settings, whole.select)


def test_a_sweep_can_go_on_when_its_file_has_been_composed_of_another(top: Path) -> None:
    assert difference(load_sweep(top.with_stem("whole")), load_sweep(top)) == ""


def test_a_single_run_reads_it_too(top: Path) -> None:
    assert load_run(top) == load_run(top.with_stem("whole"))
    assert load_run(top).training.batch_size == 50


def test_a_folder_of_sweeps_reads_it_too(top: Path) -> None:
    sweeps = read_folder(top.parent, Choice())
    assert {sweep.name: sweep.run["method"]["name"] for sweep in sweeps} == {
        "base": "ppbi",
        "top": "ft",
        "whole": "ft",
    }


def test_overrides_of_a_sweep_apply_on_top(top: Path) -> None:
    given = ["run.training.epochs=7", "run.network.hidden=[9]", "space.method.tau_0={grid: [1]}"]
    sweep = load_sweep(top, [*given, "sweep.sampler=grid"])
    assert sweep.run["training"] == {"epochs": 7, "batch_size": 50}
    assert sweep.run["network"]["hidden"] == [9]
    assert (sweep.space["method.tau_0"].values, sweep.settings.sampler) == ((1,), "grid")


def test_overrides_of_a_single_run_apply_on_top(top: Path) -> None:
    run = load_run(top, ["training.epochs=7", "method.tau_0=1e-6"])
    assert (run.training.epochs, run.training.batch_size) == (7, 50)
    assert run.method["tau_0"] == 1e-6


def test_a_fault_of_a_composed_file_is_told_by_its_own_name(top: Path) -> None:
    top.write_text("from: base.yaml\nsweep: {trails: 4}\n")
    with pytest.raises(SweepError, match=r"top\.yaml: sweep.*trails.*did you mean 'trials'"):
        load_sweep(top)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from: no.yaml", r"no\.yaml: a readable file must be there"),
        ("from: top.yaml", r"top\.yaml: `from` must lead to a file without it"),
        ("from: 3\nrun: {}", r"top\.yaml: no block 'from'"),
    ],
    ids=["missing", "a cycle", "no path"],
)
def test_a_base_that_is_none_is_a_fault_of_the_sweep(top: Path, text: str, message: str) -> None:
    top.write_text(text)
    with pytest.raises(SweepError, match=message):
        load_sweep(top)


def test_the_example_of_the_documentation_is_a_file_of_the_project() -> None:
    text = (SPACES / f"{EXAMPLE}.yaml").read_text()
    assert text in (SPACES / "README.md").read_text()
    assert parse_yaml(text)["from"] == "ppbi_split_mnist.yaml"


def test_the_example_differs_from_its_base_in_the_benchmark_only() -> None:
    composed, base = (
        load_sweep(SPACES / f"{EXAMPLE}.yaml"),
        load_sweep(SPACES / "ppbi_split_mnist.yaml"),
    )
    assert composed.run["benchmark"] == {"name": "permuted_mnist", "n_tasks": 10}
    assert {**composed.run, "benchmark": None} == {**base.run, "benchmark": None}
    assert (composed.space, composed.settings) == (base.space, base.settings)
