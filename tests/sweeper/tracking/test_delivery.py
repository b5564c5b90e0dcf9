"""The way into MLflow: each run and each point once, however often they are sent."""

import threading
from pathlib import Path

import pytest
from mlflow import MlflowClient
from mlflow.entities import ViewType

from sweeper.tracking import RunLog, Tracking, close_left_over, deliver_outbox, run_ids
from tests.sweeper.stores import (
    kill,
    leave_record,
    log_of,
    log_steps,
    opened,
    steps,
    the_run,
    wait_until,
)


@pytest.mark.parametrize("call", ["create_run", "log_batch", "search_runs", "set_terminated"])
def test_a_lost_answer_changes_nothing(sweep: Tracking, lost: list[str], call: str) -> None:
    lost.append(call)
    log = log_of(sweep)
    log_steps(log, range(5))
    log.close("FINISHED", patience=60)
    assert lost == []
    assert steps(sweep) == list(range(5))
    assert the_run(sweep).data.params == {"lr": "0.1"}
    assert the_run(sweep).info.status == "FINISHED"


@pytest.mark.parametrize("call", ["create_run", "log_batch", "log_artifacts", "set_terminated"])
def test_a_delivery_that_breaks_off_is_repeated_without_harm(
    sweep: Tracking, lost: list[str], call: str
) -> None:
    leave_record(sweep, range(5))
    lost.append(call)
    assert deliver_outbox(sweep) == 1
    assert deliver_outbox(sweep) == 0
    assert steps(sweep) == list(range(5))
    assert the_run(sweep).info.status == "FAILED"


def test_a_record_that_comes_twice_changes_nothing(sweep: Tracking) -> None:
    path = leave_record(sweep, range(5))
    content = path.read_bytes()
    assert deliver_outbox(sweep) == 0
    before = the_run(sweep).to_dictionary()
    path.write_bytes(content)
    assert deliver_outbox(sweep) == 0
    assert the_run(sweep).to_dictionary() == before
    assert steps(sweep) == list(range(5))


# Resuming


def test_a_run_that_had_failed_runs_again(sweep: Tracking, away: threading.Event) -> None:
    log_of(sweep).close("FAILED")
    log = RunLog(sweep, "a", "again", {"lr": 99, "new": 1}, {"attempt": "2"})
    wait_until(lambda: the_run(sweep).info.status == "RUNNING")
    run = the_run(sweep)
    assert run.data.params == {"lr": "0.1", "new": "1"}
    assert (run.data.tags["attempt"], run.data.tags["sweeper.status"]) == ("2", "running")
    log.close("FINISHED")
    assert the_run(sweep).info.status == "FINISHED"


def test_a_resumed_trial_goes_on_in_its_run(sweep: Tracking, away: threading.Event) -> None:
    first = log_of(sweep)
    log_steps(first, range(5))
    wait_until(lambda: first.pending() == [])
    kill(first)
    second = log_of(sweep)
    log_steps(second, range(3, 8))
    second.close("FINISHED")
    assert steps(sweep) == steps(sweep, "acc") == list(range(8))
    assert the_run(sweep).info.status == "FINISHED"


def test_what_was_pending_but_came_through_after_all_is_not_repeated(
    sweep: Tracking, away: threading.Event
) -> None:
    first = log_of(sweep)
    log_steps(first, range(5))
    saved = first.pending()
    wait_until(lambda: first.pending() == [])
    kill(first)
    second = log_of(sweep, pending=saved)
    second.close("FINISHED")
    assert steps(sweep) == list(range(5))


# Runs of a sweep


def test_an_empty_twin_of_a_run_is_removed(sweep: Tracking) -> None:
    log = log_of(sweep)
    log_steps(log, range(3))
    log.close("FINISHED")
    run, client = the_run(sweep), MlflowClient(sweep.uri)
    twin = client.create_run(sweep.experiment_id, start_time=1, tags=run.data.tags)
    assert run_ids(sweep) == {"a": run.info.run_id}
    close_left_over(sweep, {})
    assert the_run(sweep).info.run_id == run.info.run_id
    query = [sweep.experiment_id], "", ViewType.DELETED_ONLY
    assert [r.info.run_id for r in client.search_runs(*query)] == [twin.info.run_id]


def test_runs_of_other_sweeps_are_left_alone(sweep: Tracking, uri: str, tmp_path: Path) -> None:
    other = opened(uri, tmp_path, "s2")
    log = log_of(other, "b")
    wait_until(lambda: "b" in run_ids(other))
    close_left_over(sweep, {"b": "KILLED"})
    assert run_ids(sweep) == {}
    assert the_run(sweep).info.status == "RUNNING"
    log.close("FINISHED")
