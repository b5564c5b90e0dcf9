"""What becomes of records while the store fails: delivered later, or kept."""

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sweeper.tracking import Tracking, close_left_over, deliver_outbox, run_ids
from tests.sweeper.stores import (
    artifact,
    leave_record,
    log_of,
    log_steps,
    steps,
    the_run,
    wait_until,
)


def test_a_store_that_comes_back_gets_everything(sweep: Tracking, away: threading.Event) -> None:
    log = log_of(sweep)
    log_steps(log, range(3))
    wait_until(lambda: log.pending() == [])
    away.set()
    log_steps(log, range(3, 6))
    log.artifact("R.json", "[]")
    time.sleep(0.2)
    assert len(log.pending()) == 7
    away.clear()
    wait_until(lambda: log.pending() == [])
    log.close("FINISHED")
    assert steps(sweep) == list(range(6))


def test_a_store_that_is_away_is_mentioned_once(
    sweep: Tracking, away: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    away.set()
    log = log_of(sweep)
    time.sleep(0.3)
    log.close("FINISHED", patience=0.1)
    [message] = [r.getMessage() for r in caplog.records if r.name == "sweeper.tracking"]
    assert "must take the records of a, but got ConnectionError: away" in message


def test_what_cannot_be_delivered_waits_in_the_outbox(
    sweep: Tracking, away: threading.Event
) -> None:
    away.set()
    log = log_of(sweep)
    log_steps(log, range(5))
    log.artifact("R.json", "[]")
    log.close("FAILED", {"reason": "diverged"}, patience=0.1)
    assert deliver_outbox(sweep) == 1
    assert [path.suffix for path in Path(sweep.outbox).iterdir()] == [".json"]
    away.clear()
    assert deliver_outbox(sweep) == 0
    run = the_run(sweep)
    assert steps(sweep) == list(range(5))
    assert (run.info.status, run.data.tags["reason"]) == ("FAILED", "diverged")
    assert artifact(sweep, run, "R.json") == "[]"


def test_a_resumed_trial_takes_its_record_out_of_the_outbox(
    sweep: Tracking, away: threading.Event
) -> None:
    path = leave_record(sweep, range(5))
    content = path.read_bytes()
    log = log_of(sweep)
    wait_until(lambda: log.pending() == [])
    log_steps(log, range(3, 8))
    log.close("FINISHED")
    assert not path.exists()
    assert steps(sweep) == list(range(8))
    path.write_bytes(content)  # as if killed before it was removed
    assert deliver_outbox(sweep) == 0
    assert steps(sweep) == list(range(8))
    assert the_run(sweep).info.status == "FINISHED"


def test_a_resumed_trial_that_never_reaches_the_store_leaves_one_record(
    sweep: Tracking, away: threading.Event
) -> None:
    leave_record(sweep, range(5))
    away.set()
    log = log_of(sweep)
    log_steps(log, range(3, 8))
    log.close("FINISHED", patience=0.1)
    away.clear()
    assert len(list(Path(sweep.outbox).iterdir())) == 1
    assert deliver_outbox(sweep) == 0
    assert steps(sweep) == list(range(8))
    assert the_run(sweep).info.status == "FINISHED"


def test_keys_may_look_like_paths_and_like_each_other(
    sweep: Tracking, away: threading.Event
) -> None:
    away.set()
    for key in ("a/1", "a/1@2", "a"):
        log_of(sweep, key).close("FINISHED", patience=0.0)
    away.clear()
    log_of(sweep, "a").close("FINISHED")
    assert deliver_outbox(sweep) == 0
    assert run_ids(sweep).keys() == {"a/1", "a/1@2", "a"}


def test_what_the_store_refuses_is_kept_and_said_at_once(
    sweep: Tracking, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_of(sweep)
    log.metrics({"not a name!": 1.0}, 0)
    begin = time.monotonic()
    log.close("FINISHED", patience=60)
    assert time.monotonic() - begin < 30
    assert "not a name!" in caplog.text
    assert deliver_outbox(sweep) == 1
    close_left_over(sweep, {"a": "FINISHED"})
    assert the_run(sweep).info.status == "FINISHED"


def test_a_refused_record_does_not_hold_up_the_others(sweep: Tracking) -> None:
    log = log_of(sweep, "a")
    log.metrics({"not a name!": 1.0}, 0)
    log.close("FINISHED", patience=60)
    unreachable = replace(sweep, uri="http://127.0.0.1:9")
    log_of(unreachable, "b").close("FINISHED", patience=0.0)
    assert deliver_outbox(sweep) == 1
    assert "b" in run_ids(sweep)


def test_an_outbox_that_cannot_be_written_does_not_fail_the_trial(
    sweep: Tracking, away: threading.Event, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    away.set()
    log = log_of(replace(sweep, outbox=str(tmp_path / "file")))
    log.close("FINISHED", patience=0.0)
    assert "must be writable" in caplog.text


@pytest.mark.parametrize("content", [b"", b'{"start"', b"[]", b'{"start": {}}', b"\xff"])
def test_a_damaged_record_is_named_and_set_aside(
    sweep: Tracking, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    path = leave_record(sweep, range(2))
    path.write_bytes(content)
    assert deliver_outbox(sweep) == 0
    aside = Path(sweep.outbox).with_name("outbox.damaged") / path.name
    assert aside.read_bytes() == content
    assert f"{path}: must be a record for MLflow, but is damaged" in caplog.text
