"""What a result says that it was made with."""

from pathlib import Path

import pytest

from mpnet import environment


def test_an_image_knows_its_commit_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "COMMIT").write_text("0123456789ab-dirty\n")
    monkeypatch.setattr(environment, "__file__", str(tmp_path / "environment.py"))
    environment.environment.cache_clear()
    assert environment.environment()["commit"] == "0123456789ab-dirty"
    environment.environment.cache_clear()
