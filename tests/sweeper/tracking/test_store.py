"""Is the store there, and what it is told by the environment."""

import os
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sweeper.tracking import Tracking, deliver_outbox, store, tracking_fault
from tests.sweeper.servers import free_port
from tests.sweeper.stores import log_of, log_steps, steps

# Is the store there?


def test_a_store_in_a_writable_folder_is_fine(sweep: Tracking, tmp_path: Path) -> None:
    assert tracking_fault(sweep.uri) is None
    assert tracking_fault(f"sqlite:///{tmp_path}/new/mlflow.db") is None
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("sqlite:///mlflow.db", "the path must be absolute, as in sqlite:////home/me/mlflow.db."),
        ("sqlite:///{tmp}/file/mlflow.db", "in a writable folder, but {tmp}/file is not"),
        ("sqlite:///{tmp}/file", "an MLflow store must answer, but got DatabaseError"),
        (
            "http://127.0.0.1:{port}",
            "but got ConnectionRefusedError: Connection refused; start",
        ),
        ("http://me:secret@127.0.0.1:{port}", "must come without user and password"),
        ("nonsense://x", "an MLflow store must answer, but got"),
    ],
)
def test_a_fault_is_explained(given: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database " * 100)
    uri = given.format(tmp=tmp_path, port=free_port())
    found = tracking_fault(uri)
    assert found is not None
    assert said.format(tmp=tmp_path) in found
    assert "secret" not in found


def test_a_server_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_ANSWER_SECONDS", 0.5)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        found = tracking_fault(f"http://127.0.0.1:{server.getsockname()[1]}")
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
    assert tracking_fault(locked) is None
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong")
    said = tracking_fault(locked)
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


def test_a_busy_machine_is_waited_for_where_the_store_is_a_file(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_ask", lambda _: time.sleep(0.3))
    monkeypatch.setattr(store, "_ANSWER_SECONDS", 0.1)
    assert tracking_fault(uri) is None
    monkeypatch.setattr(store, "_LOCAL_SECONDS", 0.1)
    late = "must answer, but does not within 0.1 s; try again when this machine and its disk are"
    assert late in str(tracking_fault(uri))
