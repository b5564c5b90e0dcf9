"""What a worker is told of what a ledger asks for."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sweeper.driver.assigning import assigned, surroundings
from sweeper.execution.assignment import Assignment, RerunAssignment, TrialAssignment
from sweeper.ledger import Asked
from sweeper.results.records import Rerun
from tests.sweeper.driver.queues import ONE_CPU, actives, swept

RUN = {"seed": 5}


def told(folder: Path, what: Any, **settings: Any) -> Assignment:
    [active] = actives(folder, swept("s", **settings))
    around = surroundings(active.prepared, None, "a command")
    return assigned(4, Asked(2, "key", 1, what), RUN, around, active.sweep)


def test_a_trial_is_told_its_values_and_a_seed_for_each_repeat(tmp_path: Path) -> None:
    found = told(tmp_path, {"x": 1}, repeats=3)
    assert isinstance(found, TrialAssignment)
    assert (found.values, found.seeds) == ({"x": 1}, (5, 6, 7))
    assert (found.sweep, found.number, found.key, found.attempt) == (4, 2, "key", 1)


def test_a_rerun_has_one_seed_whatever_the_repeats(tmp_path: Path) -> None:
    found = told(tmp_path, Rerun(0, 9), repeats=3)
    assert isinstance(found, RerunAssignment)
    assert (found.rerun, found.seeds, found.split) == (Rerun(0, 9), (9,), "test")


@pytest.mark.parametrize(
    ("kept", "stages"), [("none", ()), ("test", ("test",)), ("all", ("search", "test"))]
)
def test_the_stages_whose_runs_are_kept(tmp_path: Path, kept: str, stages: Any) -> None:
    assert told(tmp_path, {"x": 1}, keep_runs=kept).surroundings.keep_runs == stages


@pytest.mark.parametrize(("scheduler", "seconds"), [("none", 0.5), ("bound", 0.5), ("asha", 0)])
def test_a_scheduler_that_compares_steps_hears_of_every_epoch(
    tmp_path: Path, scheduler: str, seconds: float
) -> None:
    found = told(tmp_path, {"x": 1}, scheduler=scheduler)
    assert found.surroundings.report_seconds == seconds


def test_what_a_trial_gets_of_its_node_is_told_with_it(tmp_path: Path) -> None:
    [active] = actives(tmp_path, swept("s"), share=replace(ONE_CPU, cpu=2, gpu=0.25))
    around = surroundings(active.prepared, None, "a command")
    assert (around.cpu, around.gpu, around.command) == (2, 0.25, "a command")
