"""The command line as a person meets it."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mpnet.__main__ import main
from mpnet.results import json_text

QUICKSTART = str(Path(__file__).parents[2] / "search_spaces" / "quickstart.yaml")
SHORT = [QUICKSTART, "training.epochs=1", "network.hidden=[16]"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_run_ends_with_one_json_line_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--seed", "1"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert {"acc", "bwt", "R"} <= set(result)
    assert len(result["R"]) == 5
    assert result["R"][0][1:] == [None] * 4
    assert "ACC" in captured.err


def test_the_folder_holds_R_the_metrics_and_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHORT, "--output", "out"]) == 0
    printed = json.loads(capsys.readouterr().out)
    saved = json.loads((tmp_path / "out" / "result.json").read_text())
    assert saved["R"] == printed["R"]
    rows = list(csv.reader((tmp_path / "out" / "R.csv").read_text().splitlines()))
    assert [float(x) for x in rows[5][1:]] == printed["R"][4]
    assert rows[1][2:] == [""] * 4
    assert json.loads((tmp_path / "out" / "config.json").read_text())["training"]["epochs"] == 1


def test_a_method_that_protects_says_how_selectively_after_each_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHORT, "method.name=lra", "method.measure=uniform", "--output", "out"]) == 0
    captured = capsys.readouterr()
    shown = captured.err.splitlines()
    lines = [line for line in shown if line.startswith("LRA after task")]
    assert [line.split()[3] for line in lines] == ["1:", "2:", "3:", "4:", "5:"]
    assert sum("of its rate: this is fine-tuning" in line for line in shown) == 5
    assert shown.index(lines[-1]) > next(i for i, line in enumerate(shown) if "ACC" in line)
    saved = json.loads((tmp_path / "out" / "result.json").read_text())["selectivity_by_task"]
    assert [list(after["layers"]) for after in saved] == [["layer 1"]] * 5
    assert saved[-1]["trunk"]["held"] == json.loads(captured.out)["held"]
    assert main([*SHORT, "method.name=lra", "method.measure=uniform", "--output", "out"]) == 0
    assert lines[-1] in capsys.readouterr().err.splitlines()  # of the checkpoint


def test_a_pipe_is_told_of_every_task_and_of_an_epoch_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*SHORT, "--seed", "5"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if " done: accuracy " in line][0].startswith("task 1/5 done")
    assert not [line for line in lines if "epoch" in line]
    monkeypatch.setattr("mpnet.__main__._SECONDS_BETWEEN_EPOCHS", 0.0)
    assert main([*SHORT, "--seed", "6"]) == 0
    assert "task 2/5, epoch 1/1: loss " in capsys.readouterr().err


def test_a_method_that_protects_nothing_says_nothing_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHORT, "method={name: ft}", "--output", "out"]) == 0
    captured = capsys.readouterr()
    assert "held" not in captured.err + captured.out
    assert "selectivity" not in (tmp_path / "out" / "result.json").read_text()


def test_mistakes_end_with_exit_code_2_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([QUICKSTART, "training.epoch=1", "method.name=ftt"]) == 2
    captured = capsys.readouterr()
    assert "did you mean 'epochs'?" in captured.err
    assert "did you mean 'ft'?" in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("quick", "quik"), ("search_spaces", "serch_space"), ("quickstart.yaml", "quickstart")],
)
def test_a_misspelt_file_is_guessed(
    capsys: pytest.CaptureFixture[str], right: str, wrong: str
) -> None:
    assert main([QUICKSTART.replace(right, wrong)]) == 2
    assert f"Did you mean {QUICKSTART}?" in "".join(capsys.readouterr().err.splitlines())


def test_what_is_not_known_is_null_in_json() -> None:
    assert json_text({"bwt": float("nan"), "acc": 0.5}) == '{"bwt": null, "acc": 0.5}'


def test_the_split_option_says_what_R_is_judged_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SHORT, "--split", "test"]) == 0
    assert "test accuracy" in capsys.readouterr().err


def test_a_finished_run_is_shown_and_not_trained_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(SHORT) == 0
    first = capsys.readouterr().out
    assert main(SHORT) == 0
    again = capsys.readouterr()
    assert again.out == first
    assert "finished before" in again.err


def test_an_unfinished_run_is_not_overwritten_unless_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint.pt").write_bytes(b"of hours")
    assert main([*SHORT, "--output", "out"]) == 2
    assert "--restart" in capsys.readouterr().err
    assert (tmp_path / "out" / "checkpoint.pt").read_bytes() == b"of hours"
    assert main([*SHORT, "--output", "out", "--restart"]) == 0


@pytest.mark.parametrize(
    "override", ["training.epochs=[", "device=cuda:99", "network.dropout=1.5"]
)
def test_values_that_cannot_be_are_mistakes_too(
    override: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SHORT, override]) == 2
    assert override.split("=")[0].split(".")[-1] in capsys.readouterr().err


def test_options_and_overrides_may_come_in_any_order(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([SHORT[0], "--seed", "3", *SHORT[1:]]) == 0
    assert "seed 3" in capsys.readouterr().err


def test_a_damaged_checkpoint_is_refused_with_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "checkpoint.pt").write_bytes(b"no checkpoint")
    assert main([*SHORT, "--output", "out", "--resume"]) == 2
    assert "checkpoint.pt: must be a complete checkpoint" in capsys.readouterr().err


def test_ctrl_c_stops_with_a_hint_and_resume_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mpnet", *SHORT, "training.epochs=200", "--output", "out"]
    # A shell's background job ignores SIGINT and hands that on; a terminal's program does not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    checkpoint = tmp_path / "out" / "checkpoint.pt"
    for _ in range(600):
        if checkpoint.exists():
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, shown = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "--resume" in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "out" / "result.json").exists()
    resumed = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert json.loads(resumed.stdout)["acc"] > 0.9


def test_help_shows_examples() -> None:
    command = [sys.executable, "-m", "mpnet", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "examples:" in shown
    assert "quickstart.yaml" in shown
    assert "method.name=ppbi: tau_0" in shown
