"""Waiting for an answer, with an end."""

import threading

import pytest

from sweeper import waiting
from sweeper.execution import storage


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
