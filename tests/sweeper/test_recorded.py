"""What Python sees of a sweep: its records, ranked, and as a table."""

from pathlib import Path

import numpy as np
import pytest

import sweeper
from sweeper.errors import SweepError
from sweeper.ledger import Ledger
from sweeper.results.records import Rerun
from tests.sweeper.ledgers import finish_all, opened, outcome, rerun_all, start, swept


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
    assert found.tests == found.order_tests == ()
    assert "2 of 2 trials finished" in repr(found)


def test_results_on_unseen_class_orders_are_apart_from_the_others(tmp_path: Path) -> None:
    finish_all(opened(tmp_path, swept(trials=2)))
    rerun_all(Ledger(tmp_path).reruns([Rerun(1, 5), Rerun(1, 5, 0), Rerun(1, 6, 1)]))
    found = sweeper.open_sweep(tmp_path)
    assert [test.seeds for test in found.tests] == [(5,)]
    assert [test.seeds for test in found.order_tests] == [{0: 5, 1: 6}]


def test_a_matrix_that_is_not_there_is_refused(tmp_path: Path) -> None:
    start(opened(tmp_path, swept()))
    with pytest.raises(SweepError, match="trial 0 must have finished, but has not"):
        sweeper.open_sweep(tmp_path).R(0)


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="must be the folder of a sweep"):
        sweeper.open_sweep(tmp_path)
