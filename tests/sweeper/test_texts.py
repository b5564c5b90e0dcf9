"""Commands as they are printed."""

import pytest

from sweeper.texts import typed


def test_a_printed_command_begins_with_the_script_that_we_were_called_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MPNET_RUN", raising=False)
    assert typed("mlflow", "ui", "a b") == "mlflow ui 'a b'"
    monkeypatch.setenv("MPNET_RUN", "./run")
    assert typed("mlflow", "ui", "a b") == "./run mlflow ui 'a b'"
