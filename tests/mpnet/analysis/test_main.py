"""The command line as a person meets it."""

import csv
from pathlib import Path

import pytest

from mpnet.analysis import ANALYSES
from mpnet.analysis.__main__ import main
from tests.mpnet.analysis.conftest import Folder

OPTIONS = {"ood": ["--against", "digits"]}


@pytest.mark.parametrize("command", list(ANALYSES))
def test_every_command_writes_a_picture_a_drawing_and_the_data(
    command: str, folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*OPTIONS.get(command, []), "--output", str(tmp_path / "out")]
    assert main([command, str(folder("ppbi")), *options]) == 0
    printed = capsys.readouterr().out
    for kind in ("png", "svg", "csv"):
        path = tmp_path / "out" / f"{command}.{kind}"
        assert path.stat().st_size > 0
        assert path.name in printed
    lines = (tmp_path / "out" / f"{command}.csv").read_text().splitlines()
    assert all(None not in row.values() for row in csv.DictReader(lines))
    assert "digits, 5 tasks; mlp 16" in printed


def test_files_go_below_the_first_run_unless_asked_otherwise(folder: Folder) -> None:
    assert main(["calibration", str(folder("ft")), str(folder("ft", 1))]) == 0
    assert (folder("ft") / "analysis" / "calibration.png").exists()


def test_mistakes_end_with_exit_code_2_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prune", str(tmp_path / "one"), str(tmp_path / "two")]) == 2
    shown = capsys.readouterr().err
    assert "one/config.json" in shown
    assert "two/config.json" in shown
    assert "Traceback" not in shown


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "examples:" in shown
    assert "Figure 2" in shown
