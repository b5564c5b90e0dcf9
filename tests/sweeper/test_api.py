"""What Python sees of a sweep."""

import doctest
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import sweeper
from sweeper.errors import SweepError
from tests.sweeper.ledgers import finish_all, opened, outcome, start, swept
from tests.sweeper.sweeps import ROOT, SMALL


def test_the_examples_in_the_docstrings_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found = doctest.testmod(sweeper)
    assert found.attempted >= 4
    assert found.failed == 0


def test_a_recorded_sweep_has_its_trials_as_a_table(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(trials=3))
    stage.fail(start(stage)[0], "diverged")
    finish_all(stage)
    table = sweeper.open_sweep(tmp_path).trials()
    assert list(table["state"]) == ["failed", "finished", "finished"]
    assert {"number", "a", "b", "acc", "bwt", "seconds", "reason"} <= set(table.columns)
    assert table["reason"][0] == "diverged"


def test_the_best_its_matrix_and_the_tests_are_there(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(trials=2))
    for acc in (0.4, 0.8):
        R = [[0.9, None], [0.7, acc]]
        stage.finish(start(stage)[0], {**outcome(acc), "R": [R]})
    found = sweeper.open_sweep(tmp_path)
    assert found.best is not None and found.best.number == 1
    np.testing.assert_equal(found.R(1), [[0.9, np.nan], [0.7, 0.8]])
    assert found.tests == ()
    assert "2 of 2 trials finished" in repr(found)


def test_a_matrix_that_is_not_there_is_refused(tmp_path: Path) -> None:
    start(opened(tmp_path, swept()))
    with pytest.raises(SweepError, match="trial 0 must have finished, but has not"):
        sweeper.open_sweep(tmp_path).R(0)


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="must be the folder of a sweep"):
        sweeper.open_sweep(tmp_path)


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
