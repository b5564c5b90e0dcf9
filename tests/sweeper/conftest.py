"""Fixtures for the tests of the service."""

import pytest


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal waits for the disk after each line; nobody cuts the power here."""
    monkeypatch.setattr("os.fsync", lambda _: None)
