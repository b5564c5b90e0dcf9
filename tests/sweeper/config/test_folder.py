"""Folders of sweeps: what each file adds, and what is said when it does not fit."""

from pathlib import Path

import pytest

from mpnet.reading import merged
from sweeper.config.folder import Choice, read_folder
from sweeper.config.sweep import Sweep
from sweeper.errors import SweepError

BASE = """
run:
  benchmark: {name: split_mnist, n_tasks: 5}
  network: {name: mlp, hidden: [800]}
  method: {name: lra}
  training: {epochs: 10}
space:
  method.measure: {choice: [var, snr]}
  method.tau_0: {grid: [1e-3, 1e-4]}
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    files = {
        "lra.yaml": BASE,
        "table/rows/lra_snr.yaml": "from: {mlp: ../../lra.yaml}\n"
        "run: {method: {measure: snr}}\nspace: {method.measure: null}\n",
        "table/columns/digits.yaml": "network: mlp\nrun: {benchmark: {name: digits}}\n",
        "table/columns/two.yaml": "network: mlp\nrun: {benchmark: {n_tasks: 2}}\n",
        "table/budgets/short.yaml": "run: {training: {epochs: 1}}\nsweep: {trials: 1}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "table"


def test_blocks_are_merged_key_by_key() -> None:
    below = {"run": {"a": 1, "b": {"c": 2, "d": 3}}, "sweep": {"trials": 4}}
    above = {"run": {"b": {"c": 5}, "e": 6}}
    expected = {"run": {"a": 1, "b": {"c": 5, "d": 3}, "e": 6}, "sweep": {"trials": 4}}
    assert merged(below, above) == expected
    assert below["run"]["b"] == {"c": 2, "d": 3}


def test_null_removes_a_key() -> None:
    assert merged({"space": {"a": 1, "b": 2}}, {"space": {"a": None, "z": None}}) == {
        "space": {"b": 2}
    }


def test_a_block_with_another_name_replaces_the_old_one() -> None:
    below = {"benchmark": {"name": "split_mnist", "n_tasks": 5}}
    assert merged(below, {"benchmark": {"name": "digits"}}) == {"benchmark": {"name": "digits"}}
    kept = merged(below, {"benchmark": {"name": "split_mnist", "seed": 1}})
    assert kept == {"benchmark": {"name": "split_mnist", "n_tasks": 5, "seed": 1}}


def test_a_table_has_a_sweep_for_each_row_and_column(table: Path) -> None:
    digits, two = read_folder(table, Choice())
    assert [digits.name, two.name] == ["lra_snr.digits", "lra_snr.two"]
    assert digits.run["benchmark"] == {"name": "digits"}
    assert two.run["benchmark"] == {"name": "split_mnist", "n_tasks": 2}
    assert two.run["method"] == {"name": "lra", "measure": "snr"}
    assert list(two.space) == ["method.tau_0"]


def test_a_budget_and_then_the_command_line_have_the_last_word(table: Path) -> None:
    choice = Choice(["sweep.trials=2"], "short", ["*.two"])
    (sweep,) = read_folder(table, choice)
    assert sweep.name == "lra_snr.two"
    assert sweep.run["training"]["epochs"] == 1
    assert sweep.n_trials == 2


def test_a_folder_without_rows_has_a_sweep_for_each_file(table: Path) -> None:
    (sweep,) = read_folder(table.parent, Choice())
    assert sweep.name == "lra"


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (Choice(budget="long"), "--budget long: must be a file in"),
        (Choice(only=["nothing*"]), "must fit the name of a sweep; there is lra_snr.digits"),
        (Choice(["sweep.trails=2"]), "did you mean 'trials'?"),
        (Choice(["trials=2"]), "must read block.key=value"),
    ],
)
def test_a_choice_that_does_not_fit_is_refused(table: Path, choice: Choice, message: str) -> None:
    with pytest.raises(SweepError, match=message.replace("?", r"\?")):
        refuse_faulty(read_folder(table, choice))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows/lra_snr.yaml", "run: {}", "`from` must name a search space for each network"),
        ("columns/two.yaml", "network: alexnet", "`network` must be one of"),
        ("columns/two.yaml", "network: mlp\nrum: {}", "no block 'rum'; did you mean 'run'?"),
        ("rows/lra_snr.yaml", "from: {mlp: nowhere.yaml}", "nowhere.yaml: a readable file must"),
    ],
)
def test_a_piece_that_does_not_fit_is_named(
    table: Path, name: str, text: str, message: str
) -> None:
    (table / name).write_text(text)
    with pytest.raises(SweepError) as caught:
        refuse_faulty(read_folder(table, Choice()))
    assert message in str(caught.value)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="must hold YAML files, or rows/ and columns/"):
        read_folder(tmp_path, Choice())


def refuse_faulty(sweeps: list[Sweep]) -> None:
    """As a launch does it, which looks for other faults besides."""
    raise SweepError("\n".join(fault for sweep in sweeps for fault in sweep.faults))


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for end in ("yaml", "yml"):
        (tmp_path / f"b.{end}").write_text("run: {}")
    with pytest.raises(SweepError, match=r"b\.yaml and b\.yml: must have different names"):
        read_folder(tmp_path, Choice())


def test_a_network_that_is_no_name_is_refused(table: Path) -> None:
    column = next((table / "columns").iterdir())
    column.write_text("network: [mlp]")
    (fault,) = {line for sweep in read_folder(table, Choice()) for line in sweep.faults} - {""}
    assert f"{column}: `network` must be one of" in fault and "but got ['mlp']" in fault
