"""One stage of a sweep: every configuration once, whoever dies when."""

from pathlib import Path
from typing import Any

import pytest
from optuna.trial import TrialState

from sweeper.ledger import Ledger
from sweeper.records import TrialRecord
from sweeper.space import Values
from sweeper.study import Study, key_of
from tests.sweeper.ledgers import (
    BRANCHED,
    FLOATS,
    GRID,
    asked,
    finish_all,
    is_over,
    opened,
    outcome,
    start,
    started,
    states,
    swept,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


# How a trial ends


def test_a_finished_trial_keeps_its_outcome(tmp_path: Path) -> None:
    study = opened(tmp_path, swept())
    number, values = start(study)
    study.finish(number, outcome(0.9, -0.1))
    record = Ledger(tmp_path).records()[number]
    assert (record.state, record.values, record.key) == ("finished", values, key_of(values))
    assert record.metrics == {"acc": 0.9, "bwt": -0.1}
    assert (record.seeds, record.R, record.seconds) == ((0,), ([[0.9]],), 1.5)


def test_a_failed_and_a_stopped_trial_keep_their_reasons_and_count_as_done(
    tmp_path: Path,
) -> None:
    study = opened(tmp_path, swept(trials=2))
    study.fail(start(study)[0], "diverged")
    study.stop(start(study)[0], "too slow")
    assert [(r.state, r.reason) for r in study.records() if r.reason] == [
        ("failed", "diverged"),
        ("stopped", "too slow"),
    ]
    assert study.n_left == 0
    assert not study.wants_more()


@pytest.mark.parametrize("metrics", [{"acc": float("nan")}, {"acc": float("inf")}, {"bwt": 1.0}])
def test_an_objective_that_is_no_number_is_a_failure(
    tmp_path: Path, metrics: dict[str, float]
) -> None:
    study = opened(tmp_path, swept())
    number, _ = start(study)
    study.finish(number, {"metrics": metrics})
    assert study.record(number).state == "failed"
    assert "must be a finite number" in str(study.record(number).reason)


def test_no_more_trials_run_at_once_than_are_left(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(FLOATS, trials=3, sampler="random"))
    assert len(list(started(study))) == 3
    assert study.n_left == 3


def test_several_objectives_are_told_to_the_sampler(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(FLOATS, objective=["acc", "bwt"], sampler="nsga2"))
    number, _ = start(study)
    study.finish(number, outcome(0.9, -0.2))
    assert study.study.trials[number].values == [0.9, -0.2]


# Each configuration once


@pytest.mark.parametrize("sampler", ["grid", "random", "tpe", "cmaes", "nsga2"])
@pytest.mark.parametrize("space", [GRID, BRANCHED], ids=["grid", "branched"])
def test_a_finite_space_is_gone_through_exactly_once(
    tmp_path: Path, space: dict[str, Any], sampler: str
) -> None:
    sweep = swept(space, sampler=sampler)
    done = finish_all(opened(tmp_path, sweep))
    assert sorted(map(key_of, done)) == sorted(map(key_of, sweep.space.points()))


def test_a_sampler_that_has_narrowed_down_still_visits_the_rest(tmp_path: Path) -> None:
    sweep = swept({"a": {"int": [1, 25]}}, sampler="tpe")
    study = opened(tmp_path, sweep)
    for number, values in started(study):
        study.finish(number, outcome(1.0 if values["a"] == 25 else 0.0))
    assert sorted(values["a"] for values in is_over(study)) == list(range(1, 26))


def test_running_configurations_are_not_given_again(tmp_path: Path) -> None:
    running = [values for _, values in started(opened(tmp_path, swept()))]
    assert len({key_of(values) for values in running}) == 6


def test_a_branch_without_parameters_is_tried_once_in_a_space_without_end(
    tmp_path: Path,
) -> None:
    space = {
        "name": {"choice": ["ft", "lra"]},
        "alpha": {"uniform": [0, 1], "when": {"name": "lra"}},
    }
    study = opened(tmp_path, swept(space, trials=15))
    for number, values in started(study):
        study.finish(number, outcome(1.0 if values["name"] == "ft" else 0.1))
    assert sum(values["name"] == "ft" for values in is_over(study)) == 1
    assert len(is_over(study)) == 15


def test_a_sweep_without_a_space_is_one_trial(tmp_path: Path) -> None:
    assert finish_all(opened(tmp_path, swept({}))) == [{}]


def test_a_grid_comes_in_the_order_of_the_file(tmp_path: Path) -> None:
    sweep = swept(sampler="grid", trials=4)
    assert finish_all(opened(tmp_path, sweep)) == list(sweep.space.points())[:4]


def test_a_longer_grid_goes_on_where_it_ended(tmp_path: Path) -> None:
    finish_all(opened(tmp_path, swept(sampler="grid", trials=4)))
    longer = swept(sampler="grid")
    assert finish_all(opened(tmp_path, longer)) == list(longer.space.points())[4:]
    assert Ledger(tmp_path).sweep.text == longer.text


def test_first_points_come_first_and_not_again(tmp_path: Path) -> None:
    first = [{"a": 3, "b": "y"}, {"a": 2, "b": "x"}]
    sweep = swept(sampler="grid", first=first)
    done = finish_all(opened(tmp_path, sweep))
    assert done[:2] == first
    assert len(done) == len({key_of(values) for values in done}) == 6
    assert len(Ledger(tmp_path).records()) == 6


@pytest.mark.parametrize(
    ("space", "first"),
    [
        ({"x": {"uniform": [0, 2]}}, {"x": 1}),
        ({"x": {"grid": [1.0, 2.0]}}, {"x": 1}),
        ({"x": {"choice": [1, 2]}}, {"x": 1.0}),
    ],
)
def test_a_first_point_has_one_key_however_its_numbers_are_written(
    tmp_path: Path, space: dict[str, Any], first: Values
) -> None:
    sweep = swept(space, trials=2, first=[first], sampler="random")
    study = opened(tmp_path, sweep)
    number, values = start(study)
    assert key_of(values) == study.record(number).key
    study.finish(number, outcome(0.5))
    again = opened(tmp_path, sweep)
    assert start(again)[1] != values


# Ending before all trials are done


def test_a_sweep_ends_when_nothing_better_has_come_for_long_enough(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(FLOATS, patience=2, trials=50, sampler="random"))
    for acc in (0.5, 0.6, 0.4, 0.6):
        assert study.wants_more()
        study.finish(start(study)[0], outcome(acc))
    assert study.n_left == 0
    assert not study.wants_more()
    assert opened(tmp_path, swept(FLOATS, patience=2, trials=50, sampler="random")).n_left == 0


def test_patience_counts_trials_in_the_order_of_their_ends_after_a_restart_too(
    tmp_path: Path,
) -> None:
    sweep = swept(FLOATS, patience=2, trials=50, sampler="random")
    study = opened(tmp_path, sweep)
    numbers = [start(study)[0] for _ in range(4)]
    for number, acc in zip(reversed(numbers), (0.5, 0.4, 0.9, 0.8), strict=True):
        study.finish(number, outcome(acc))
    assert study.n_left == opened(tmp_path, sweep).n_left == 46


# A driver dies


def test_what_was_running_is_queued_again_with_its_values(tmp_path: Path) -> None:
    sweep = swept(FLOATS, trials=4)
    study = opened(tmp_path, sweep)
    study.finish(start(study)[0], outcome(0.5))
    running = [start(study)[1] for _ in range(2)]
    again = opened(tmp_path, sweep)
    assert again.n_left == 3
    assert [start(again)[1] for _ in range(2)] == running
    assert states(again).count("interrupted") == 2


def test_queued_values_survive_any_number_of_deaths(tmp_path: Path) -> None:
    sweep = swept(FLOATS, trials=2)
    _, values = start(opened(tmp_path, sweep))
    for _ in range(3):
        assert start(opened(tmp_path, sweep))[1] == values
    finish_all(opened(tmp_path, sweep))
    assert len(is_over(opened(tmp_path, sweep))) == 2


def test_dying_between_queueing_and_letting_go_queues_once(tmp_path: Path) -> None:
    study = opened(tmp_path, swept())
    number, values = start(study)
    study.study.enqueue_trial(values, user_attrs={"retry_of": number})
    again = opened(tmp_path, swept())
    assert states(again) == ["interrupted", "waiting"]
    assert start(again)[1] == values


def test_dying_before_a_queued_trial_has_asked_for_its_values_does_not_lose_them(
    tmp_path: Path,
) -> None:
    sweep = swept(sampler="grid")
    opened(tmp_path, sweep).study.ask()
    again = opened(tmp_path, sweep)
    assert len(finish_all(again)) == 6


def test_dying_between_two_values_of_a_queued_trial_does_not_lose_the_second(
    tmp_path: Path,
) -> None:
    sweep = swept(sampler="grid")
    trial = opened(tmp_path, sweep).study.ask()
    trial.suggest_categorical("a", (1, 2, 3))
    again = opened(tmp_path, sweep)
    assert sorted(map(key_of, finish_all(again))) == sorted(map(key_of, sweep.space.points()))


def test_dying_before_the_sampler_has_given_a_value_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    opened(tmp_path, swept(FLOATS, trials=3)).study.ask()
    again = opened(tmp_path, swept(FLOATS, trials=3))
    assert states(again) == ["interrupted"]
    assert len(finish_all(again)) == 3


def duplicated(study: Study) -> int:
    """Asked for once more, just before its driver dies."""
    point = {"a": 1, "b": "x"}
    for _ in range(2):
        study.study.enqueue_trial(point)
    number, values = asked(study)
    assert study.accept(number, values)
    study.finish(number, outcome(0.5))
    return asked(study)[0]


def test_dying_with_a_duplicate_in_hand_does_not_repeat_what_is_finished(tmp_path: Path) -> None:
    sweep = swept(sampler="random")
    number = duplicated(opened(tmp_path, sweep))
    again = opened(tmp_path, sweep)
    assert again.record(number).state == "interrupted"
    assert {"a": 1, "b": "x"} not in finish_all(again)
    assert len(is_over(again)) == 6


def test_dying_while_a_duplicate_is_given_back_leaves_nothing_running(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(sampler="random"))
    number = duplicated(study)
    study._set(number, "duplicate", True)
    again = opened(tmp_path, swept(sampler="random"))
    assert TrialState.RUNNING not in [trial.state for trial in again.study.trials]


def test_an_outcome_that_was_written_before_the_death_counts(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(trials=1))
    number, _ = start(study)
    study._set(number, "outcome", outcome(0.9))
    again = opened(tmp_path, swept(trials=1))
    assert again.record(number).state == "finished"
    assert again.study.best_value == 0.9
    assert again.n_left == 0


def test_an_outcome_from_before_selectivity_was_known_is_a_record(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(trials=1))
    number, _ = start(study)
    assert "selectivity" not in outcome(0.9)
    study.finish(number, outcome(0.9))
    assert study.record(number).selectivity == ()


def test_what_is_released_on_the_way_can_run_again(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(trials=1))
    number, values = start(study)
    study.release(number)
    assert study.record(number).state == "interrupted"
    assert start(study)[1] == values


# Keys


def test_the_key_of_a_configuration_does_not_depend_on_the_order_of_its_values() -> None:
    assert key_of({"a": 1, "b": 2.5}) == key_of({"b": 2.5, "a": 1})
    assert key_of({"a": 1, "b": 2.5}) != key_of({"a": 1, "b": 2.6})


def test_a_record_has_the_key_under_which_its_trial_saves(tmp_path: Path) -> None:
    study = opened(tmp_path, swept(BRANCHED))
    for number, values in started(study):
        record: TrialRecord = study.record(number)
        assert record.key == key_of(values)
