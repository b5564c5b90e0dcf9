"""Those whom a sweep tells how it goes: a real server of webhooks, a real program."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Hook(ThreadingHTTPServer):
    """Keeps what it is told.

    Args:
        status: of every answer.
        location: where an answer sends whoever asks.
    """

    daemon_threads = True

    def __init__(self, status: int = 200, location: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.location = status, location
        self.paths: list[str] = []
        self.headers: list[Message] = []
        self.told: list[dict[str, Any]] = []
        self.hold: threading.Event | None = None  # before it answers

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        self.server.headers.append(self.headers)
        self.server.told.append(json.loads(body))
        if self.server.hold:
            self.server.hold.wait(60)
        self.send_response(self.server.status, f"what of {self.path}")
        if self.server.location:
            self.send_header("Location", self.server.location)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def hook(status: int = 200, location: str = "") -> Iterator[Hook]:
    """A server that answers meanwhile."""
    with Hook(status, location) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


def program(folder: Path, then: str = "") -> tuple[str, ...]:
    """The words of one that adds what it is told to a file, a line each."""
    file = str(folder / "told")
    text = f"import sys; open({file!r}, 'a').write(sys.stdin.read() + '\\n')"
    return sys.executable, "-c", f"{text}; {then}"


def told_to_program(folder: Path) -> list[dict[str, Any]]:
    """What it was told."""
    return [json.loads(line) for line in (folder / "told").read_text().splitlines()]
