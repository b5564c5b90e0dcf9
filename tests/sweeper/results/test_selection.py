"""Which trials are rerun on the test sets, by hand."""

from dataclasses import replace
from typing import Any

import pytest

from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.errors import SweepError
from sweeper.results.records import Rerun, State, TrialRecord
from sweeper.results.selection import empty_groups, reruns, select


def trial(number: int, acc: float, bwt: float = 0.0, state: State = "finished") -> TrialRecord:
    metrics = {"acc": acc, "bwt": bwt}
    return TrialRecord(number=number, key=f"k{number}", values={}, state=state, metrics=metrics)


def sweep_of(trials: int = 9, **select: Any) -> Sweep:
    blocks = {
        "run": {},
        "space": {"x": {"uniform": [0, 1]}},
        "sweep": {"trials": trials, "repeats": 2},
        "select": select,
    }
    return parse_sweep(blocks, "s")


TRIALS = [trial(0, 0.7, -0.1), trial(1, 0.9, -0.3), trial(2, 0.8, -0.2)]
BETTER_BUT_NOT_FINISHED = [trial(3, 1.0, state="stopped"), trial(4, 1.0, state="failed")]


@pytest.mark.parametrize(
    ("settings", "numbers"),
    [
        ({}, [1]),
        ({"top": 2}, [1, 2]),
        ({"top": 0}, []),
        ({"top": 9}, [1, 2, 0]),
        ({"top": 2, "objective": "bwt"}, [0, 2]),
        ({"top": 3, "objective": ["bwt", "acc"]}, [0, 2, 1]),
    ],
)
def test_the_top_by_the_objective_of_the_selection_are_chosen(
    settings: dict[str, Any], numbers: list[int]
) -> None:
    chosen = select([*TRIALS, *BETTER_BUT_NOT_FINISHED], sweep_of(**settings))
    assert [record.number for record in chosen] == numbers


def test_too_few_finished_trials_are_refused_with_the_reason_and_a_way_out() -> None:
    with pytest.raises(SweepError) as error:
        select([TRIALS[0], *BETTER_BUT_NOT_FINISHED], sweep_of(at_least=2))
    assert "at least 2 trials must have finished all tasks" in str(error.value)
    assert "but 1 of 3 have" in str(error.value)
    assert "select.at_least" in str(error.value)


def test_a_sweep_of_one_trial_needs_no_more_than_one() -> None:
    assert select([TRIALS[0]], sweep_of(trials=1, at_least=2)) == [TRIALS[0]]


def test_nothing_finished_is_always_too_few() -> None:
    with pytest.raises(SweepError, match="but 0 of 2 have"):
        select(BETTER_BUT_NOT_FINISHED, sweep_of(at_least=1))


def test_every_chosen_trial_is_rerun_with_every_seed_and_none_that_the_search_used() -> None:
    chosen = [replace(TRIALS[1], seeds=(10, 11)), replace(TRIALS[0], seeds=(3, 4))]
    assert reruns(chosen, sweep_of(seeds=3)) == [
        Rerun(number, seed) for number in (1, 0) for seed in (12, 13, 14)
    ]
    assert reruns([replace(TRIALS[1], seeds=(0, 1))], sweep_of(seeds=1)) == [Rerun(1, 2)]


# Group by group

BRANCHED: dict[str, Any] = {
    "method.name": {"choice": ["ft", "lra"]},
    "method.measure": {"choice": ["var", "uniform"], "when": {"method.name": "lra"}},
    "method.alpha": {"grid": [1, 2, 3], "when": {"method.name": "lra"}},
}
EACH = ["method.name", "method.measure"]


def grouped(each: list[str] = EACH, **select: Any) -> Sweep:
    blocks = {"run": {}, "space": BRANCHED, "sweep": {"sampler": "grid"}}
    return parse_sweep({**blocks, "select": {"each": each, **select}}, "s")


def member(number: int, acc: float, *values: str, state: State = "finished") -> TrialRecord:
    names = dict(zip(EACH, values, strict=False))
    return replace(trial(number, acc, state=state), values=names)


MEMBERS = [
    member(0, 0.50, "ft"),
    member(1, 0.90, "lra", "var"),
    member(2, 0.95, "lra", "var"),
    member(3, 0.60, "lra", "uniform"),
    member(4, 0.70, "lra", "uniform"),
]


@pytest.mark.parametrize(
    ("each", "settings", "numbers"),
    [
        (EACH, {}, [2, 4, 0]),
        (EACH, {"top": 2}, [2, 1, 4, 3, 0]),
        (EACH, {"top": 0}, []),
        (["method.name"], {}, [2, 0]),
        (["method.measure"], {}, [2, 4, 0]),  # ft has no measure: a group of its own
        ([], {}, [2]),
    ],
)
def test_the_top_of_each_group_are_chosen_the_very_best_first(
    each: list[str], settings: dict[str, Any], numbers: list[int]
) -> None:
    chosen = select(MEMBERS, grouped(each, **settings))
    assert [record.number for record in chosen] == numbers


def test_a_front_is_that_of_its_group() -> None:
    """Trial 2 loses to trial 0 in both metrics, but that one is of another group."""
    trials = [
        replace(trial(0, 0.9, -0.2), values={"method.name": "ft"}),
        replace(trial(1, 0.5, -0.1), values={"method.name": "lra"}),
        replace(trial(2, 0.8, -0.3), values={"method.name": "lra"}),
    ]
    sweep = grouped(["method.name"], objective=["acc", "bwt"])
    assert [record.number for record in select(trials, sweep)] == [0, 2]


def test_all_groups_are_rerun_with_the_same_seeds() -> None:
    sweep = grouped(seeds=3)
    asked = reruns(select(MEMBERS, sweep), sweep)
    seeds = {
        number: [rerun.seed for rerun in asked if rerun.configuration == number]
        for number in (2, 4, 0)
    }
    assert seeds == {2: [1, 2, 3], 4: [1, 2, 3], 0: [1, 2, 3]}


def test_a_group_without_a_finished_trial_is_known() -> None:
    stopped = member(5, 0.99, "lra", "uniform", state="stopped")
    assert empty_groups([*MEMBERS[:3], stopped], grouped()) == [
        (("method.name", "lra"), ("method.measure", "uniform"))
    ]
    assert empty_groups(MEMBERS, grouped()) == []


def test_a_group_without_a_finished_trial_does_not_hold_up_the_others() -> None:
    failed = member(5, 0.99, "lra", "uniform", state="failed")
    assert [record.number for record in select([*MEMBERS[:3], failed], grouped())] == [2, 0]


# Class orders


def tuned_on(class_order: int | None, number: int = 1) -> TrialRecord:
    run = {"benchmark": {"name": "digits", "class_order": class_order}}
    return replace(TRIALS[number], seeds=(10, 11), run=run)


@pytest.mark.parametrize(
    ("tuned", "orders"), [(None, [0, 1, 2]), (0, [1, 2, 3]), (1, [0, 2, 3]), (2**40, [0, 1, 2])]
)
def test_the_best_is_rerun_on_the_first_orders_that_the_search_has_not_seen(
    tuned: int | None, orders: list[int]
) -> None:
    asked = reruns([tuned_on(tuned)], sweep_of(seeds=1, class_orders=3))
    assert asked == [Rerun(1, 12), *(Rerun(1, 12 + n, o) for n, o in enumerate(orders))]


def test_a_trial_from_before_there_were_class_orders_was_tuned_on_none() -> None:
    old = replace(TRIALS[1], run={"benchmark": {"name": "digits"}})
    assert reruns([old], sweep_of(seeds=1, class_orders=1)) == [Rerun(1, 1), Rerun(1, 1, 0)]


def test_all_that_are_chosen_have_the_same_orders_with_the_same_seeds_after_all_others() -> None:
    chosen = [tuned_on(None, 1), tuned_on(None, 0)]
    asked = reruns(chosen, sweep_of(seeds=2, class_orders=2))
    assert asked[:4] == [Rerun(number, seed) for number in (1, 0) for seed in (12, 13)]
    assert asked[4:] == [Rerun(number, 12 + order, order) for number in (1, 0) for order in (0, 1)]


@pytest.mark.parametrize("later", [{"seeds": 4}, {"class_orders": 5}])
def test_more_seeds_or_orders_that_are_asked_for_later_change_no_rerun(
    later: dict[str, int],
) -> None:
    asked = {"seeds": 2, "class_orders": 3}
    before = reruns([tuned_on(None)], sweep_of(**asked))
    assert set(before) < set(reruns([tuned_on(None)], sweep_of(**{**asked, **later})))
