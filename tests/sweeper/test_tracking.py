"""Runs and points in a real SQLite store: once each, whatever fails, repeats or comes late."""

import json
import os
import pickle
import shutil
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run, ViewType

from sweeper import tracking
from sweeper.tracking import (
    RunLog,
    Tracking,
    close_left_over,
    close_sweep,
    deliver_outbox,
    delivery,
    fault,
    open_sweep,
    run_ids,
    store,
    ui_command,
    ui_link,
)


class Faulty:
    """A client whose answers get lost, or whose store is away."""

    def __init__(self, client: MlflowClient, lost: list[str], away: threading.Event) -> None:
        self._client, self._lost, self._away = client, lost, away

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if self._away.is_set():
                raise ConnectionError("away")
            answer = getattr(self._client, name)(*args, **options)
            if name in self._lost:
                self._lost.remove(name)
                raise ConnectionError("answer lost")
            return answer

        return call


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables; making them takes seconds."""
    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    open_sweep(f"sqlite:///{path}", "unused", "unused", "unused", path.parent, {}, {}, {})
    return path


@pytest.fixture
def uri(tmp_path: Path, empty_store: Path) -> str:
    (tmp_path / "store").mkdir()
    return f"sqlite:///{shutil.copy(empty_store, tmp_path / 'store')}"


@pytest.fixture
def sweep(uri: str, tmp_path: Path) -> Tracking:
    return opened(uri, tmp_path)


@pytest.fixture
def lost(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of client methods whose next answer gets lost."""
    names: list[str] = []
    _install(monkeypatch, names, threading.Event())
    return names


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set while the store cannot be reached."""
    switch = threading.Event()
    _install(monkeypatch, [], switch)
    yield switch


def _install(monkeypatch: pytest.MonkeyPatch, lost: list[str], away: threading.Event) -> None:
    connect = store.connect
    monkeypatch.setattr(delivery, "connect", lambda uri: Faulty(connect(uri), lost, away))
    monkeypatch.setattr(tracking, "_FIRST_SECONDS", 0.0)
    monkeypatch.setattr(tracking, "_FLUSH_SECONDS", 0.02)
    monkeypatch.setattr(tracking, "_CLOSING_PAUSE", 0.02)


def opened(uri: str, folder: Path, sweep_id: str = "s1") -> Tracking:
    tags, params = {"method": "lra"}, {"sweep": {"trials": 4}}
    artifacts = {"sweep.yaml": "run: {}"}
    return open_sweep(
        uri, "digits", sweep_id, "lra on digits", folder / "outbox", tags, params, artifacts
    )


def log_of(sweep: Tracking, key: str = "a", **options: Any) -> RunLog:
    return RunLog(sweep, key, f"trial {key}", {"lr": 0.1}, {"method": "lra"}, **options)


def log_steps(log: RunLog, steps: range) -> None:
    for step in steps:
        log.metrics({"loss": 1.0 / (step + 1), "acc": step / 10}, step)


def kill(log: RunLog) -> None:
    """What is left of a log when its process is killed: nothing."""
    log._closing.set()
    log._abandoned.set()
    log._thread.join()


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def runs(sweep: Tracking, role: str = "trial") -> list[Run]:
    query = f"tags.`sweeper.role` = '{role}'"
    return list(MlflowClient(sweep.uri).search_runs([sweep.experiment_id], query))


def the_run(sweep: Tracking, role: str = "trial") -> Run:
    [run] = runs(sweep, role)
    return run


def steps(sweep: Tracking, key: str = "loss") -> list[int]:
    """The steps of a metric in the order of their logging, repetitions included."""
    history = MlflowClient(sweep.uri).get_metric_history(the_run(sweep).info.run_id, key)
    return sorted(point.step for point in history)


def artifact(sweep: Tracking, run: Run, path: str) -> str:
    return Path(run.info.artifact_uri.removeprefix("file://"), path).read_text()


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


# Resuming


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


def test_a_run_that_had_failed_runs_again(sweep: Tracking, away: threading.Event) -> None:
    log_of(sweep).close("FAILED")
    log = RunLog(sweep, "a", "again", {"lr": 99, "new": 1}, {"attempt": "2"})
    wait_until(lambda: the_run(sweep).info.status == "RUNNING")
    run = the_run(sweep)
    assert run.data.params == {"lr": "0.1", "new": "1"}
    assert (run.data.tags["attempt"], run.data.tags["sweeper.status"]) == ("2", "running")
    log.close("FINISHED")
    assert the_run(sweep).info.status == "FINISHED"


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


# Failures of the store


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


def leave_record(sweep: Tracking, steps: range) -> Path:
    """Leave a failed trial in the outbox."""
    log = log_of(replace(sweep, uri="http://127.0.0.1:9"))
    log_steps(log, steps)
    log.artifact("R.json", "[]")
    log.close("FAILED", patience=0.0)
    log._thread.join()
    [path] = Path(sweep.outbox).glob("*.json")
    return path


def test_a_record_that_comes_twice_changes_nothing(sweep: Tracking) -> None:
    path = leave_record(sweep, range(5))
    content = path.read_bytes()
    assert deliver_outbox(sweep) == 0
    before = the_run(sweep).to_dictionary()
    path.write_bytes(content)
    assert deliver_outbox(sweep) == 0
    assert the_run(sweep).to_dictionary() == before
    assert steps(sweep) == list(range(5))


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


def test_a_store_that_is_away_is_a_connection_error(sweep: Tracking, tmp_path: Path) -> None:
    nobody = replace(sweep, uri=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(ConnectionError, match="an MLflow store must answer, but got"):
        run_ids(nobody)
    with pytest.raises(ConnectionError, match="an MLflow store must answer, but got"):
        close_left_over(nobody, {})
    with pytest.raises(ConnectionError, match="an MLflow store must answer, but got"):
        opened(nobody.uri, tmp_path)


def test_runs_of_other_sweeps_are_left_alone(sweep: Tracking, uri: str, tmp_path: Path) -> None:
    other = opened(uri, tmp_path, "s2")
    log = log_of(other, "b")
    wait_until(lambda: "b" in run_ids(other))
    close_left_over(sweep, {"b": "KILLED"})
    assert run_ids(sweep) == {}
    assert the_run(sweep).info.status == "RUNNING"
    log.close("FINISHED")


# Is the store there?


def test_a_store_in_a_writable_folder_is_fine(sweep: Tracking, tmp_path: Path) -> None:
    assert fault(sweep.uri) is None
    assert fault(f"sqlite:///{tmp_path}/new/mlflow.db") is None
    assert not (tmp_path / "new").exists()


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("sqlite:///mlflow.db", "the path must be absolute, as in sqlite:////home/me/mlflow.db."),
        ("sqlite:///{tmp}/file/mlflow.db", "in a writable folder, but {tmp}/file is not"),
        ("sqlite:///{tmp}/file", "an MLflow store must answer, but got DatabaseError"),
        ("http://127.0.0.1:{port}", "an MLflow store must answer, but got Mlflow"),
        ("http://me:secret@127.0.0.1:{port}", "must come without user and password"),
        ("nonsense://x", "an MLflow store must answer, but got"),
    ],
)
def test_a_fault_is_explained(given: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database " * 100)
    uri = given.format(tmp=tmp_path, port=free_port())
    found = fault(uri)
    assert found is not None
    assert said.format(tmp=tmp_path) in found
    assert "secret" not in found


def test_a_server_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_ANSWER_SECONDS", 0.5)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        found = fault(f"http://127.0.0.1:{server.getsockname()[1]}")
    assert found is not None
    assert "but does not within" in found


class Locked(BaseHTTPRequestHandler):
    """A server that lets only `me` in, and has nothing for them."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        is_me = self.headers.get("Authorization") == "Basic " + b64encode(b"me:right").decode()
        body = b"{}" if is_me else b"You are not authenticated."
        self.send_response(200 if is_me else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def locked() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Locked) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_credentials_come_from_the_environment(
    locked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "right")
    assert fault(locked) is None
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong")
    said = fault(locked)
    assert said is not None
    assert "401" in said
    assert "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD" in said


def test_records_outlive_wrong_credentials(
    sweep: Tracking, locked: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = log_of(replace(sweep, uri=locked))
    log_steps(log, range(5))
    begin = time.monotonic()
    log.close("FINISHED", patience=60)
    assert time.monotonic() - begin < 30
    assert "401" in caplog.text
    assert deliver_outbox(sweep) == 0
    assert steps(sweep) == list(range(5))


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "77")
    monkeypatch.delenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", raising=False)
    store.connect(uri)
    assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "77"
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "0"


# Looking at it


def test_a_store_without_a_server_has_a_command_for_its_ui() -> None:
    command = ui_command("sqlite:////home/a b/mlflow.db")
    assert command == ["mlflow", "ui", "--backend-store-uri", "sqlite:////home/a b/mlflow.db"]
    assert ui_command("https://host") == []


@pytest.mark.parametrize(
    ("uri", "base"),
    [
        ("sqlite:////x/mlflow.db", "http://127.0.0.1:5000"),
        ("https://me:secret@host:80/mlflow/", "https://host:80/mlflow"),
    ],
)
def test_the_link_shows_the_trials_of_the_sweep_sorted(uri: str, base: str) -> None:
    link = ui_link(Tracking(uri, "7", "p", "s 1", "/outbox"), "val/acc")
    page, query = link.split("?")
    assert page == f"{base}/#/experiments/7/runs"
    assert parse_qs(query) == {
        "workflowType": ["machine_learning"],
        "searchFilter": ["tags.`sweeper.role`='trial' and tags.`sweeper.sweep`='s 1'"],
        "orderByKey": ["metrics.`val/acc`"],
        "orderByAsc": ["false"],
    }
    assert not set(link) & set("`' ")
