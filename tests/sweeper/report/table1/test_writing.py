"""The table of all sweeps below a folder: real ledgers in, four files out."""

from pathlib import Path

import pytest
from rich.console import Console

from sweeper.ledger import Ledger
from sweeper.report.table1.writing import collected, write
from tests.sweeper.table1_records import recorded, write_sweep


@pytest.mark.parametrize("form", ["table1.md", "table1.html", "table1.tex"])
def test_every_form_states_the_protocol(form: str, forms: dict[str, str]) -> None:
    text = forms[form].replace("&#39;", "'")
    assert "Not the paper's protocol (250 epochs, batch 500)" in text
    assert "epochs 9 (paper: 250): 2-Split MNIST (only EWC)" in text


def test_a_sweep_that_has_not_begun_is_named_beside_the_others(
    sweeps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sweeps / "new").mkdir()
    (sweeps / "new" / "study.journal").touch()
    write(sweeps, Console())
    text = " ".join(capsys.readouterr().out.split())
    assert "90.00 ± 7.07" in text and "new: must be the folder of a sweep" in text


def test_a_sweep_that_was_only_bound_has_its_cell_and_says_what_departs(
    sweeps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bound = recorded({"name": "si"}, [], [], epochs=9)
    (sweeps / "si").mkdir()
    ledger = Ledger(sweeps / "si")
    ledger.begin(bound.sweep)
    ledger.bound_runs = bound.bound_runs
    write(sweeps, Console())
    text = " ".join(capsys.readouterr().out.split())
    assert "search: 0 of 2" in text and "epochs 9 (paper: 250): 2-Split MNIST (only SI)" in text


def test_a_sweep_below_another_is_not_one_of_its_own(sweeps: Path) -> None:
    write_sweep(sweeps / "mine" / "ewc.2" / "trials" / "copy")
    table = collected(sweeps, Console())
    assert {entry.folder for entry in table.cells if entry.folder} == {"mine/ewc.2"}
    assert not any(entry.remark for entry in table.cells)  # no second one for its cell
