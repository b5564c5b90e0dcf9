"""Sweep files as a person writes them, and what is said of wrong ones."""

from pathlib import Path

import pytest

from sweeper.config.sweep import Sweep, load_sweep
from sweeper.errors import SweepError

RUN = "run: {method: {name: ft}}\n"
SPACE = RUN + "space:\n  "
GRID = RUN + "space: {a: {grid: [1, 2]}, b: {grid: [1, 2, 3]}}\n"


def loaded(tmp_path: Path, text: str, *overrides: str) -> Sweep:
    file = tmp_path / "s.yaml"
    file.write_text(text)
    return load_sweep(file, overrides)


def fault_of(tmp_path: Path, text: str) -> str:
    """What is said of a file that is wrong."""
    with pytest.raises(SweepError, match=r"s\.yaml") as error:
        loaded(tmp_path, text)
    return str(error.value)
