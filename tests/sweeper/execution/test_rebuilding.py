"""Runs that MLflow lacks, written again from records, in a real store."""

from pathlib import Path
from typing import Any

from mpnet.config import parse_run
from sweeper.execution.assignment import Surroundings
from sweeper.execution.rebuilding import write_missing_runs
from sweeper.results.records import Rerun, RerunRecord, TrialRecord
from tests.sweeper.stores import opened, runs

RUN = parse_run({"training": {"epochs": 1}}).model_dump(mode="json")
KNOWN: dict[str, Any] = {
    "number": 3,
    "key": "k",
    "state": "finished",
    "run": RUN,
    "metrics": {"acc": 0.7, "bwt": -0.2},
    "seeds": (0,),
    "R": ([[0.9, None], [0.6, 0.8]],),
    "curves": ([[1.0, 0.3, 0.9], [2.0, 0.2, 0.8]],),
}
TRIAL = TrialRecord(**KNOWN, values={"training.epochs": 1})
RERUN = RerunRecord(**KNOWN, rerun=Rerun(3, 7))
BOTH = {"search-k": "FINISHED", "test-k": "FINISHED"}


def test_a_run_is_written_once_with_all_that_its_record_says(uri: str, tmp_path: Path) -> None:
    sweep = opened(uri, tmp_path)
    around = Surroundings("", tracking=sweep)
    assert write_missing_runs([TRIAL, RERUN], BOTH, around) == 2
    assert write_missing_runs([TRIAL, RERUN], BOTH, around) == 0
    found = {run.data.tags["sweeper.stage"]: run for run in [*runs(sweep), *runs(sweep, "test")]}
    assert {run.info.status for run in found.values()} == {"FINISHED"}
    assert found["search"].data.metrics["val/acc"] == 0.7
    assert found["test"].data.metrics["test/bwt"] == -0.2
    assert found["search"].data.metrics["epoch/loss"] == 0.2


def test_a_run_that_is_not_over_is_left_to_its_trial(uri: str, tmp_path: Path) -> None:
    sweep = opened(uri, tmp_path)
    assert write_missing_runs([TRIAL], {}, Surroundings("", tracking=sweep)) == 0
    assert runs(sweep) == []
