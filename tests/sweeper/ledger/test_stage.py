"""One stage of a sweep: how trials end, and what is known of them."""

from pathlib import Path
from typing import Any

import pytest

from sweeper.ledger import Ledger
from tests.sweeper.ledgers import (
    FLOATS,
    opened,
    outcome,
    start,
    started,
    swept,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def test_a_finished_trial_keeps_its_outcome(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept())
    number, values = start(stage)
    stage.finish(number, {**outcome(0.9, -0.1), "versions": {"torch": "2.7"}})
    [record] = Ledger(tmp_path).trial_records()
    assert (record.number, record.state, record.values) == (number, "finished", values)
    assert record.metrics == {"acc": 0.9, "bwt": -0.1}
    assert (record.seeds, record.R, record.seconds) == ((0,), ([[0.9]],), 1.5)
    assert record.versions == {"torch": "2.7"}


def test_an_outcome_from_before_selectivity_was_known_is_a_record(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(trials=1))
    number, _ = start(stage)
    assert "selectivity" not in outcome(0.9)
    stage.finish(number, outcome(0.9))
    assert stage.record(number).selectivity == ()


def test_a_trial_keeps_the_run_that_was_resolved_for_it(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept())
    number, _ = start(stage)
    assert stage.record(number).run == {}
    stage.note_run(number, {"seed": 3, "method": {"name": "ft"}})
    [record] = Ledger(tmp_path).trial_records()
    assert record.run == {"seed": 3, "method": {"name": "ft"}}


def test_a_failed_and_a_stopped_trial_keep_their_reasons_and_count_as_done(
    tmp_path: Path,
) -> None:
    stage = opened(tmp_path, swept(trials=2))
    stage.fail(start(stage)[0], "diverged")
    stage.stop(start(stage)[0], "too slow")
    assert [(record.state, record.reason) for record in Ledger(tmp_path).trial_records()] == [
        ("failed", "diverged"),
        ("stopped", "too slow"),
    ]
    assert stage.n_left == 0
    assert not stage.wants_more()


def test_a_stopped_trial_keeps_what_it_has_shown(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(trials=1))
    number, _ = start(stage)
    stage.stop(number, "hopeless", [[[0.9, None], [0.5, 0.7]]], at_most=0.8)
    [record] = Ledger(tmp_path).trial_records()
    assert (record.state, record.R, record.metrics) == ("stopped", (), {})
    assert record.shown == ([[0.9, None], [0.5, 0.7]],)
    assert stage.study.trials[number].user_attrs["at_most"] == 0.8


# What optuna-dashboard shows

FIVE = [[0.9, None], [0.7, 0.8]]  # after the first task 0.9, after the second 0.75


def test_the_dashboard_has_names_values_metrics_and_acc_after_each_task(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept({"tau": {"grid": [1e-3, 1, 1e-8]}}, sampler="tpe", trials=3))
    number, values = start(stage)
    stage.finish(number, {**outcome(0.75, -0.2), "R": [FIVE]})
    trial = stage.study.trials[number]
    assert stage.study.metric_names == ["acc"]
    assert (trial.params, trial.value) == (values, 0.75)
    assert trial.params["tau"] in (1e-3, 1, 1e-8)
    assert (trial.user_attrs["acc"], trial.user_attrs["bwt"]) == (0.75, -0.2)
    assert trial.intermediate_values == pytest.approx({1: 0.9, 2: 0.75})


@pytest.mark.parametrize("objective", ["bwt", ["acc", "bwt"]])
def test_intermediate_values_are_of_the_objective_or_there_are_none(
    tmp_path: Path, objective: Any
) -> None:
    stage = opened(tmp_path, swept(FLOATS, objective=objective))
    stage.finish(start(stage)[0], outcome(0.75))
    assert stage.study.trials[0].intermediate_values == {}


@pytest.mark.parametrize("metrics", [{"acc": float("nan")}, {"acc": float("inf")}, {"bwt": 1.0}])
def test_an_objective_that_is_no_number_is_a_failure(
    tmp_path: Path, metrics: dict[str, float]
) -> None:
    stage = opened(tmp_path, swept())
    number, _ = start(stage)
    stage.finish(number, {"metrics": metrics})
    assert stage.record(number).state == "failed"
    assert "must be a finite number" in str(stage.record(number).reason)


def test_no_more_trials_run_at_once_than_are_left(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(FLOATS, trials=3, sampler="random"))
    assert len(list(started(stage))) == stage.n_running == 3
    assert stage.n_left == 3


def test_a_closed_stage_gives_nothing_more_and_takes_what_comes(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(FLOATS, trials=3))
    number, _ = start(stage)
    stage.is_closed = True
    assert stage.ask() is None
    stage.finish(number, outcome(0.5))
    assert stage.n_left == 2


def test_several_objectives_are_told_to_the_sampler(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(FLOATS, objective=["acc", "bwt"], sampler="nsga2"))
    number, _ = start(stage)
    stage.finish(number, outcome(0.9, -0.2))
    assert stage.study.trials[number].values == [0.9, -0.2]
