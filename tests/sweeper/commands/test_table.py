"""`sweeper table`: the paper's table from real ledgers."""

import csv
from pathlib import Path

import pytest

from sweeper.commands.table import main


def test_the_command_writes_four_files_from_real_ledgers(
    sweeps: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(sweeps)]) == 0
    text = capsys.readouterr().out
    names = ["table1.html", "table1.md", "table1.csv", "table1.tex"]
    assert text.split("\n")[-5:-1] == [str(sweeps / name) for name in names]
    assert "90.00 ± 7.07" in text  # the deviation of 85 and 95 is 10 / sqrt(2)
    ewc, *_ = csv.DictReader((sweeps / "table1.csv").read_text(encoding="utf-8").splitlines())
    assert (ewc["sweep"], float(ewc["acc"])) == ("mine/ewc.2", pytest.approx(0.9))
    page = (sweeps / "table1.html").read_text(encoding="utf-8")
    assert 'href="mine/ewc.2/report.html"' in page


@pytest.mark.parametrize("name", ["", "nowhere"])
def test_a_folder_without_sweeps_is_refused_with_advice(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert "a folder with sweeps at any depth must be given" in error
    assert "sweeper.launch search_spaces/table1/" in error


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "sweeper table sweeps" in capsys.readouterr().out


def test_the_folder_has_a_default(
    sweeps: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (sweeps / "sweeps").mkdir()
    (sweeps / "mine").rename(sweeps / "sweeps" / "table1")
    monkeypatch.chdir(sweeps)
    assert main([]) == 0
    assert "sweeps/table1/table1.tex" in capsys.readouterr().out
