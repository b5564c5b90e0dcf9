"""Waiting for an answer, with an end."""

import json
import threading
import time
from pathlib import Path

import pytest

from sweeper import waiting
from sweeper.commands.launch import main
from sweeper.execution import storage
from tests.sweeper.sweeps import SMALL


def test_an_answer_in_time_is_given_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert waiting.answer_of(lambda: 3, "somebody", 5) == 3
    assert not caplog.text


def test_who_is_waited_for_is_said_and_the_waiting_ends(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "_SECONDS_OF_SILENCE", 0.01)
    assert waiting.answer_of(threading.Event().wait, "somebody", 0.05) is None
    assert "waiting for somebody to answer, for at most 0.05 s" in caplog.text


def test_a_storage_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "_ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(storage, "_write_fault", lambda _: threading.Event().wait())
    text = "gs://nobucket/x: a place to write to must answer within 0.05 s, but does not"
    assert text in (storage.storage_fault("gs://nobucket/x") or "")


def test_a_launch_does_not_wait_for_a_storage_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(storage, "_ANSWER_SECONDS", 0.5)
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL))
    begin = time.monotonic()
    options = ["--output", str(tmp_path / "out"), "sweep.storage=gs://nobucket/x"]
    assert main([str(tmp_path / "small.yaml"), *options]) == 2
    assert time.monotonic() - begin < 60  # its own client tries for minutes
    text = "sweep.storage: gs://nobucket/x: a place to write to must answer within 0.5 s, but does"
    assert text in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_error_that_only_a_client_knows_is_told_in_one_line() -> None:
    wrong = storage.storage_fault("hdfs://nohost.invalid/x") or ""
    assert wrong.startswith("hdfs://nohost.invalid/x: must be a place to write to, but ")
    assert wrong.endswith("; give another.") and "\n" not in wrong and len(wrong) < 500


@pytest.mark.parametrize("error", [RuntimeError("no\ntoken"), KeyError("no token")])
def test_whatever_a_client_raises_is_an_answer(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(place: str) -> str:
        raise error

    monkeypatch.setattr(storage, "mark", failing)
    wrong = storage.storage_fault("abfs://x@y/z") or ""
    assert wrong.startswith("abfs://x@y/z: must be a place to write to, but ") and "no" in wrong
    assert "\n" not in wrong
