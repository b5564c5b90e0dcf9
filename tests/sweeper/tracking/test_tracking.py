"""Sweeps and trials in MLflow: one run each, every point once."""

import json
import pickle
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from mlflow import MlflowClient

from sweeper import tracking
from sweeper.tracking import (
    RunLog,
    Tracking,
    close_left_over,
    close_sweep,
    deliver_outbox,
    delivery,
    run_ids,
    store,
)
from tests.sweeper.servers import free_port
from tests.sweeper.stores import (
    artifact,
    kill,
    log_of,
    log_steps,
    opened,
    runs,
    steps,
    the_run,
    wait_until,
)

# A sweep


def test_a_sweep_has_a_parent_run(sweep: Tracking) -> None:
    run = the_run(sweep, "parent")
    assert run.info.run_id == sweep.parent_run_id
    assert (run.info.status, run.info.run_name) == ("RUNNING", "lra on digits")
    assert run.data.params == {"sweep.trials": "4"}
    assert run.data.tags.items() >= {"sweeper.sweep": "s1", "method": "lra"}.items()


def test_a_sweep_opened_again_is_the_same(sweep: Tracking, uri: str, tmp_path: Path) -> None:
    close_sweep(sweep, "FINISHED", {}, {}, {})
    assert opened(uri, tmp_path) == sweep
    assert the_run(sweep, "parent").info.status == "RUNNING"


def test_two_sweeps_share_an_experiment(sweep: Tracking, uri: str, tmp_path: Path) -> None:
    other = opened(uri, tmp_path, "s2")
    assert other.experiment_id == sweep.experiment_id
    assert other.parent_run_id != sweep.parent_run_id


def test_a_deleted_experiment_comes_back(sweep: Tracking, uri: str, tmp_path: Path) -> None:
    MlflowClient(uri).delete_experiment(sweep.experiment_id)
    assert opened(uri, tmp_path).experiment_id == sweep.experiment_id
    assert MlflowClient(uri).get_experiment(sweep.experiment_id).lifecycle_stage == "active"


def test_artifacts_lie_beside_the_database(sweep: Tracking, tmp_path: Path) -> None:
    [found] = (tmp_path / "store" / "mlartifacts").rglob("sweep.yaml")
    assert found.read_text() == "run: {}"


def test_tracking_travels_to_other_processes(sweep: Tracking) -> None:
    assert pickle.loads(pickle.dumps(sweep)) == sweep
    assert Path(sweep.outbox).is_absolute()


def test_closing_a_sweep_ends_its_parent(sweep: Tracking) -> None:
    close_sweep(sweep, "FINISHED", {"best/acc": 0.9}, {"best": "a"}, {"report.html": b"<p>"})
    run = the_run(sweep, "parent")
    assert (run.info.status, run.data.tags["sweeper.status"]) == ("FINISHED", "finished")
    assert run.data.metrics == {"best/acc": 0.9}
    assert (run.data.tags["best"], run.data.tags["method"]) == ("a", "lra")
    assert artifact(sweep, run, "report.html") == "<p>"


def test_a_sweep_closed_again_shows_its_newer_results(
    sweep: Tracking, monkeypatch: pytest.MonkeyPatch
) -> None:
    close_sweep(sweep, "KILLED", {"best/acc": 0.9}, {}, {})
    monkeypatch.setattr(tracking, "now", lambda: int(1000 * (time.time() + 60)))
    close_sweep(sweep, "FINISHED", {"best/acc": 0.8}, {}, {})
    run = the_run(sweep, "parent")
    assert (run.info.status, run.data.metrics) == ("FINISHED", {"best/acc": 0.8})


def test_a_sweep_closed_while_the_store_is_away_is_delivered_later(
    sweep: Tracking, away: threading.Event
) -> None:
    away.set()
    close_sweep(sweep, "FINISHED", {"best/acc": 0.9}, {}, {"report.html": "<p>"})
    away.clear()
    assert the_run(sweep, "parent").info.status == "RUNNING"
    assert deliver_outbox(sweep) == 0
    run = the_run(sweep, "parent")
    assert (run.info.status, run.data.metrics) == ("FINISHED", {"best/acc": 0.9})


# A trial


def test_a_trial_is_one_run_below_the_parent(sweep: Tracking) -> None:
    log = RunLog(sweep, "a", "trial a", {"method": {"name": "lra"}, "lr": 0.1}, {"stage": "tune"})
    log.metrics({"val/acc": 0.5}, step=3)
    log.artifact("R/R.json", "[[1.0]]")
    log.close("FINISHED", {"note": "fine"})
    run = the_run(sweep)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "trial a")
    assert run.data.params == {"method.name": "lra", "lr": "0.1"}
    assert run.data.metrics == {"val/acc": 0.5}
    expected = {"sweeper.sweep": "s1", "sweeper.key": "a", "sweeper.status": "finished"}
    expected |= {"mlflow.parentRunId": sweep.parent_run_id, "stage": "tune", "note": "fine"}
    assert run.data.tags.items() >= expected.items()
    assert artifact(sweep, run, "R/R.json") == "[[1.0]]"
    assert log.pending() == []


def test_a_test_rerun_says_so(sweep: Tracking) -> None:
    RunLog(sweep, "a", "test of a", {}, {"sweeper.role": "test"}).close("FINISHED")
    assert len(runs(sweep, "test")) == 1


def test_points_have_the_time_of_the_call(sweep: Tracking) -> None:
    log = log_of(sweep)
    before = time.time() * 1000
    log.metrics({"loss": 1.0}, 0)
    after = time.time() * 1000
    log.close("FINISHED")
    run_id = the_run(sweep).info.run_id
    [point] = MlflowClient(sweep.uri).get_metric_history(run_id, "loss")
    assert before - 1 <= point.timestamp <= after


def test_no_number_is_too_strange(sweep: Tracking) -> None:
    log = log_of(sweep)
    log.metrics({"nan": float("nan"), "inf": float("inf"), "none": None}, 0)
    log.close("FINISHED")
    found = the_run(sweep).data.metrics
    assert found.keys() == {"nan", "inf"}
    assert found["nan"] != found["nan"]
    assert found["inf"] > 1e308


def test_long_values_are_cut(sweep: Tracking) -> None:
    RunLog(sweep, "a", "a", {"long": "x" * 9000}, {"tag": "y" * 9000}).close("FINISHED")
    run = the_run(sweep)
    assert run.data.params["long"] == "x" * 6000
    assert run.data.tags["tag"] == "y" * 6000


def test_more_than_a_batch_arrives(sweep: Tracking) -> None:
    params = {f"p{i}": i for i in range(130)}
    log = RunLog(sweep, "a", "a", params, {})
    log_steps(log, range(1100))
    log.close("FINISHED", patience=60)
    assert steps(sweep) == list(range(1100))
    assert len(the_run(sweep).data.params) == 130


def test_a_trial_is_seen_while_it_runs(sweep: Tracking, away: threading.Event) -> None:
    log = log_of(sweep)
    log.metrics({"loss": 1.0}, 0)
    wait_until(lambda: log.pending() == [])
    assert the_run(sweep).info.status == "RUNNING"
    assert steps(sweep) == [0]
    log.close("FINISHED")


def test_nothing_waits_for_the_store(sweep: Tracking, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, connect = threading.Event(), store.connect
    monkeypatch.setattr(delivery, "connect", lambda uri: answer.wait() and connect(uri))
    begin = time.perf_counter()
    log = log_of(sweep)
    log_steps(log, range(1000))
    log.artifact("x", b"1")
    assert len(log.pending()) == 2001
    assert time.perf_counter() - begin < 0.5
    answer.set()
    log.close("FINISHED", patience=60)
    assert steps(sweep) == list(range(1000))


def test_closing_twice_is_closing_once(sweep: Tracking) -> None:
    log = log_of(sweep)
    log.close("FAILED")
    log.close("FINISHED")
    assert the_run(sweep).info.status == "FAILED"


def test_no_thread_is_left(sweep: Tracking) -> None:
    log = log_of(sweep)
    log.close("FINISHED")
    assert not log._thread.is_alive()


def test_what_was_pending_at_a_checkpoint_is_not_lost(
    sweep: Tracking, away: threading.Event
) -> None:
    away.set()
    first = log_of(sweep)
    log_steps(first, range(5))
    first.artifact("R.json", "old")
    saved = json.dumps(first.pending())
    log_steps(first, range(5, 7))
    kill(first)
    away.clear()
    second = log_of(sweep, pending=json.loads(saved))
    log_steps(second, range(5, 8))
    second.artifact("R.json", "new")
    second.close("FINISHED")
    assert steps(sweep) == list(range(8))
    assert artifact(sweep, the_run(sweep), "R.json") == "new"


# Cleaning up


def test_runs_that_nobody_runs_are_closed(sweep: Tracking, away: threading.Event) -> None:
    logs = [log_of(sweep, key) for key in ("killed", "failed", "waiting")]
    wait_until(lambda: len(runs(sweep)) == 3)
    away.set()
    kill(logs[0])
    kill(logs[1])
    logs[2].close("FINISHED", patience=0.1)
    away.clear()
    log_of(sweep, "done").close("FINISHED")
    close_left_over(sweep, {"failed": "FAILED", "done": "KILLED"})
    found = {r.data.tags["sweeper.key"]: r for r in runs(sweep)}
    assert {key: run.info.status for key, run in found.items()} == {
        "killed": "KILLED",
        "failed": "FAILED",
        "waiting": "FINISHED",
        "done": "FINISHED",
    }
    assert found["failed"].data.tags["sweeper.status"] == "failed"
    assert the_run(sweep, "parent").info.status == "RUNNING"


def test_a_store_that_is_away_is_a_connection_error(sweep: Tracking, tmp_path: Path) -> None:
    nobody = replace(sweep, uri=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ConnectionError, match="an MLflow store must answer, but got"):
        run_ids(nobody)
    with pytest.raises(ConnectionError, match="an MLflow store must answer, but got"):
        close_left_over(nobody, {})
    with pytest.raises(ConnectionError, match="an MLflow store must answer, but got"):
        opened(nobody.uri, tmp_path)
