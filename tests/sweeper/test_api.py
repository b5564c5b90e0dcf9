"""The public names of the package."""

import doctest
import json
from pathlib import Path

import pytest
from rich.console import Console

import sweeper
from sweeper.errors import SweepError
from tests.sweeper.sweeps import ROOT, SMALL


def test_the_examples_in_the_docstrings_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = doctest.testmod(sweeper)
    assert found.attempted >= 4
    assert found.failed == 0


@pytest.mark.slow
def test_a_sweep_is_launched_from_python(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(json.dumps(SMALL))
    sweep = sweeper.load_sweep(tmp_path / "small.yaml", ["run.epochs=1", "sweep.trials=2"])
    found = sweeper.launch(sweep, tmp_path / "out", console=Console(quiet=True))
    assert found.best is not None
    assert len(found.trials()) == 2
    assert found.R(found.best.number).shape == (5, 5)
    assert found.tests[0].acc.n == 2
    with pytest.raises(SweepError, match="must stay as it was started"):
        other = sweeper.load_sweep(tmp_path / "small.yaml", ["run.epochs=2", "sweep.trials=2"])
        sweeper.launch(other, tmp_path / "out", console=Console(quiet=True))
