"""Fixtures for the tests of the service."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sweeper.servers import Server


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal waits for the disk after each line; nobody cuts the power here."""
    monkeypatch.setattr("os.fsync", lambda _: None)


# Stores of MLflow


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables; making them takes seconds."""
    from sweeper.tracking import open_sweep  # not for those who need no store

    path = tmp_path_factory.mktemp("store") / "mlflow.db"
    open_sweep(f"sqlite:///{path}", "unused", "unused", "unused", path.parent, {}, {}, {})
    return path


@pytest.fixture
def uri(tmp_path: Path, empty_store: Path) -> str:
    (tmp_path / "store").mkdir()
    return f"sqlite:///{shutil.copy(empty_store, tmp_path / 'store')}"


@pytest.fixture
def server(tmp_path: Path) -> "Iterator[Server]":
    """An `mlflow server` at work."""
    from tests.sweeper.servers import Server  # not for those who need no server

    made = Server(tmp_path)
    made.start()
    yield made
    made.stop()


# Sweeps


@pytest.fixture
def sweeps(tmp_path: Path, no_waiting_for_the_disk: None) -> Path:
    """A folder with a finished sweep of the paper's table two folders deep."""
    from tests.sweeper.table1_records import write_sweep  # not for those who need no ledger

    write_sweep(tmp_path / "mine" / "ewc.2")
    return tmp_path
