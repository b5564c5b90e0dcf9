"""What tests of the driver share."""

import pytest

from sweeper.driver import sweep_queue


@pytest.fixture
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that is never near its end."""
    monkeypatch.setattr(sweep_queue, "_NEAR_THE_END", -1)
