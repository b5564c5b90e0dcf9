"""Crashes of trials and deaths of drivers: every configuration once, whoever dies when."""

from pathlib import Path

import pytest
from optuna.trial import TrialState, create_trial

from sweeper.config.space import Values
from sweeper.ledger import Ledger, SearchStage, key_of
from sweeper.ledger.samplers import distributions
from tests.sweeper.ledger.journals import cut_everywhere, drop_last_lines
from tests.sweeper.ledgers import (
    BRANCHED,
    FLOATS,
    all_keys,
    finish_all,
    is_over,
    keys_of,
    opened,
    outcome,
    start,
    started,
    states,
    swept,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


# A trial crashes


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_crash_is_tried_again_under_its_number_until_retries_are_used_up(
    tmp_path: Path, retries: int
) -> None:
    stage = opened(tmp_path, swept(trials=1))
    tries: list[tuple[int, int, bool]] = []
    while asked := stage.ask():
        is_tried_again = stage.crash(asked.number, f"error {len(tries)}", retries)
        tries.append((asked.number, asked.attempt, is_tried_again))
    assert tries == [(0, attempt, attempt < retries) for attempt in range(retries + 1)]
    [record] = Ledger(tmp_path).trial_records()
    assert (record.state, record.reason) == ("failed", f"error {retries}")
    assert (stage.n_left, stage.n_running) == (0, 0)


def test_crashes_are_counted_over_restarts(tmp_path: Path) -> None:
    sweep = swept(FLOATS, trials=1)
    asked = opened(tmp_path, sweep).ask()
    for retries_left in (True, True, False):
        stage = opened(tmp_path, sweep)
        again = stage.ask()
        assert asked and again and again.what == asked.what
        assert stage.crash(again.number, "no memory", 2) is retries_left
    assert states(tmp_path) == ["failed"]


def test_the_death_of_a_driver_is_no_crash_of_its_trials(tmp_path: Path) -> None:
    sweep = swept(FLOATS, trials=1)
    for _ in range(4):
        stage = opened(tmp_path, sweep)
        number, _ = start(stage)
    assert stage.crash(number, "no memory", 1)


def test_a_crashed_trial_can_still_finish_and_then_has_no_reason(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(trials=1))
    number, values = start(stage)
    assert stage.crash(number, "no memory", 1)
    assert start(stage) == (number, values)
    stage.finish(number, outcome(0.5))
    [record] = Ledger(tmp_path).trial_records()
    assert (record.state, record.reason) == ("finished", None)


def test_a_crashed_trial_is_given_out_before_anything_new_and_beside_no_other(
    tmp_path: Path,
) -> None:
    stage = opened(tmp_path, swept(FLOATS, trials=3))
    crashed, _ = start(stage)
    other, _ = start(stage)
    stage.crash(crashed, "no memory", 1)
    assert (stage.n_running, stage.n_left) == (1, 3)
    assert [number for number, _ in started(stage)] == [crashed, other + 1]


# A driver dies


def test_what_was_running_goes_on_under_its_numbers_before_anything_new(tmp_path: Path) -> None:
    sweep = swept(FLOATS, trials=4)
    stage = opened(tmp_path, sweep)
    stage.finish(start(stage)[0], outcome(0.5))
    running = [start(stage) for _ in range(2)]
    assert states(tmp_path) == ["finished", "running", "running"]
    again = opened(tmp_path, sweep)
    assert (again.n_left, again.n_running) == (3, 0)
    assert [start(again) for _ in range(2)] == running
    assert start(again)[0] == 3
    assert states(tmp_path) == ["finished", "running", "running", "running"]


def test_values_survive_any_number_of_deaths_and_attempts_count_up(tmp_path: Path) -> None:
    sweep = swept(FLOATS, trials=2)
    asked = [one for _ in range(4) if (one := opened(tmp_path, sweep).ask())]
    assert [one.attempt for one in asked] == [0, 1, 2, 3]
    assert [(one.number, one.key) for one in asked] == [(0, key_of(asked[0].what))] * 4
    finish_all(opened(tmp_path, sweep))
    assert len(is_over(tmp_path)) == 2


def test_what_is_released_on_the_way_can_run_again(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(trials=1))
    begun = start(stage)
    stage.release(begun[0])
    assert stage.n_running == 0
    assert states(tmp_path) == ["running"]
    assert start(stage) == begun


def test_settling_twice_changes_nothing(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(FLOATS, trials=3))
    begun = [start(stage) for _ in range(2)]
    again = opened(tmp_path, swept(FLOATS, trials=3))
    again.settle()
    assert [start(again) for _ in range(2)] == begun
    again.settle()
    assert again.n_running == 2


def eventful(stage: SearchStage) -> None:
    """All that a driver can write."""
    stage.note_run(start(stage)[0], {"seed": 0})
    stage.crash(0, "no memory", 1)
    stage.finish(start(stage)[0], outcome(0.5))
    stage.fail(start(stage)[0], "diverged")
    stage.stop(start(stage)[0], "too slow")
    stage.release(start(stage)[0])
    finish_all(stage)


@pytest.mark.parametrize("sampler", ["grid", "random"])
def test_dying_after_any_line_leaves_each_configuration_to_be_tried_once(
    tmp_path: Path, sampler: str
) -> None:
    sweep = swept(BRANCHED, sampler=sampler, first=[{"name": "lra", "alpha": 2}])
    eventful(opened(tmp_path, sweep))
    found = []
    for folder in cut_everywhere(tmp_path):
        finish_all(opened(folder, sweep))
        found.append(keys_of(is_over(folder)))
    assert found == [all_keys(sweep)] * len(found)


def test_dying_before_a_planned_trial_has_asked_for_its_values_does_not_lose_them(
    tmp_path: Path,
) -> None:
    sweep = swept(sampler="grid")
    stage = opened(tmp_path, sweep)
    stage.study.enqueue_trial({"a": 1, "b": "x"})
    stage.study.ask()
    assert keys_of(finish_all(opened(tmp_path, sweep))) == all_keys(sweep)


def test_dying_between_two_values_of_a_trial_does_not_lose_the_second(tmp_path: Path) -> None:
    sweep = swept(sampler="grid")
    trial = opened(tmp_path, sweep).study.ask()
    trial.suggest_categorical("a", (1, 2, 3))
    assert keys_of(finish_all(opened(tmp_path, sweep))) == all_keys(sweep)


def test_dying_before_the_sampler_has_given_a_value_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    sweep = swept(FLOATS, trials=3)
    opened(tmp_path, sweep).study.ask()
    again = opened(tmp_path, sweep)
    assert states(tmp_path) == []
    assert again.study.trials[0].user_attrs == {"void": True}
    assert len(finish_all(again)) == 3


@pytest.mark.parametrize("sampler", ["grid", "tpe"])
def test_a_point_that_waits_in_optuna_and_was_never_asked_for_does_no_harm(
    tmp_path: Path, sampler: str
) -> None:
    sweep = swept(sampler=sampler)
    stage = opened(tmp_path, sweep)
    running = start(stage)
    stage.study.enqueue_trial({"a": 2, "b": "y"})
    stage.study.enqueue_trial({"a": 99, "elsewhere": 1})
    again = opened(tmp_path, sweep)
    assert states(tmp_path) == ["running"]
    assert start(again) == running
    again.finish(running[0], outcome(0.5))
    assert keys_of([running[1], *finish_all(again)]) == all_keys(sweep)
    assert states(tmp_path) == ["finished"] * 6
    assert not again.study.get_trials(states=(TrialState.WAITING, TrialState.RUNNING))


def ask_optuna(stage: SearchStage, point: Values) -> int:
    """A point that was drawn, as drivers have left it that died without a look at it."""
    known = distributions(stage.space, point)
    stage.study.add_trial(
        create_trial(state=TrialState.RUNNING, params=point, distributions=known)
    )
    return len(stage.study.trials) - 1


@pytest.mark.parametrize("is_finished", [True, False], ids=["finished", "running"])
def test_dying_with_a_duplicate_in_hand_does_not_repeat_a_configuration(
    tmp_path: Path, is_finished: bool
) -> None:
    sweep = swept(sampler="random")
    stage = opened(tmp_path, sweep)
    number, values = start(stage)
    if is_finished:
        stage.finish(number, outcome(0.5))
    duplicate = ask_optuna(stage, values)
    again = opened(tmp_path, sweep)
    assert again.study.trials[duplicate].user_attrs == {"void": True}
    finish_all(again)
    assert keys_of(is_over(tmp_path)) == all_keys(sweep)


def test_dying_while_a_duplicate_is_given_back_leaves_nothing_running(tmp_path: Path) -> None:
    sweep = swept(sampler="random", trials=1)
    stage = opened(tmp_path, sweep)
    number, values = start(stage)
    stage.finish(number, outcome(0.5))
    ask_optuna(stage, values)
    opened(tmp_path, sweep)
    drop_last_lines(tmp_path)
    again = opened(tmp_path, sweep)
    assert [trial.state for trial in again.study.trials] == [TrialState.COMPLETE, TrialState.FAIL]
    assert states(tmp_path) == ["finished"]


def test_an_outcome_that_was_written_before_the_death_counts(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(trials=1))
    number, _ = start(stage)
    stage.finish(number, outcome(0.9))
    drop_last_lines(tmp_path)
    assert states(tmp_path) == ["running"]
    again = opened(tmp_path, swept(trials=1))
    assert again.record(number).state == "finished"
    assert again.study.best_value == 0.9
    assert again.n_left == 0


def test_a_reason_that_was_written_before_the_death_is_forgotten_by_a_better_end(
    tmp_path: Path,
) -> None:
    stage = opened(tmp_path, swept(trials=1))
    stage.stop(start(stage)[0], "too slow")
    drop_last_lines(tmp_path)
    assert [record.reason for record in Ledger(tmp_path).trial_records()] == [None]
    finish_all(opened(tmp_path, swept(trials=1)))
    [record] = Ledger(tmp_path).trial_records()
    assert (record.state, record.reason) == ("finished", None)


@pytest.mark.parametrize("n_deaths", [1, 8])
def test_what_was_begun_is_finished_before_anything_new_begins(
    tmp_path: Path, n_deaths: int
) -> None:
    stage = opened(tmp_path, swept())
    begun = [start(stage)[0] for _ in range(2)]
    for _ in range(n_deaths):
        stage = opened(tmp_path, swept())
        assert [start(stage)[0] for _ in range(2)] == begun
    assert start(stage)[0] == 2
    assert len(states(tmp_path)) == 3
