"""A sweep in a real SQLite store, whose answers may get lost."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from sweeper import tracking
from sweeper.tracking import Tracking, delivery, store
from tests.sweeper.stores import opened


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
