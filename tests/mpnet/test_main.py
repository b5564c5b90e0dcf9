"""The command line as a person meets it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mpnet.__main__ import main

QUICKSTART = str(Path(__file__).parents[2] / "search_spaces" / "quickstart.yaml")


def test_a_run_ends_with_one_json_line_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([QUICKSTART, "training.epochs=1", "--seed", "1"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert set(result) == {"acc", "bwt", "R"}
    assert len(result["R"]) == 5
    assert result["R"][0][1:] == [None] * 4
    assert "ACC" in captured.err


def test_mistakes_end_with_exit_code_2_and_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([QUICKSTART, "training.epoch=1", "method.name=ftt"]) == 2
    captured = capsys.readouterr()
    assert "did you mean 'epochs'?" in captured.err
    assert "did you mean 'ft'?" in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


def test_the_split_option_says_what_R_is_judged_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([QUICKSTART, "training.epochs=1", "--split", "test"]) == 0
    assert "test accuracy" in capsys.readouterr().err


def test_help_shows_examples() -> None:
    command = [sys.executable, "-m", "mpnet", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "examples:" in shown
    assert "quickstart.yaml" in shown
