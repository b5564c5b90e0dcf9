"""Whether a trial can still win: matrices by hand, and whole trials cut short at every task."""

from random import Random

import pytest

from sweeper.results.bound import ceilings, highest_acc, is_hopeless, needed_acc
from sweeper.results.records import Matrix

GOOD: Matrix = [[0.9, None, None], [0.8, 0.7, None], [0.8, 0.6, 0.5]]
POOR: Matrix = [[0.6, None], [0.3, 0.8]]  # after two of three tasks


# Ceilings


def test_a_ceiling_is_the_best_that_any_trial_has_shown_right_after_the_task_and_slack() -> None:
    assert ceilings([GOOD, POOR], 3, 0.05) == pytest.approx([0.95, 0.85, 0.55])


def test_a_task_that_nobody_has_ended_has_no_ceiling() -> None:
    assert ceilings([POOR], 4, 0.1) == pytest.approx([0.7, 0.9, 1, 1])
    assert ceilings([], 2, 0.1) == [1, 1]


def test_no_accuracy_is_above_one() -> None:
    assert ceilings([[[0.99]]], 1, 0.05) == [1]


# What can be reached


@pytest.mark.parametrize(
    ("matrices", "n_seeds", "expected"),
    [
        ([POOR], 1, (0.3 + 0.8 + 0.5) / 3),
        ([POOR[:1]], 1, (0.6 + 0.8 + 0.5) / 3),
        ([GOOD], 1, (0.8 + 0.6 + 0.5) / 3),
        ([], 1, (0.9 + 0.8 + 0.5) / 3),
        ([GOOD, POOR], 3, (1.9 + 1.6 + 2.2) / 9),
    ],
    ids=["two tasks", "one task", "all tasks", "none", "a seed done, one begun, one to come"],
)
def test_old_tasks_stay_and_new_ones_reach_their_ceilings(
    matrices: list[Matrix], n_seeds: int, expected: float
) -> None:
    assert highest_acc(matrices, n_seeds, [0.9, 0.8, 0.5]) == pytest.approx(expected)


@pytest.mark.parametrize(("top", "needed"), [(0, 0.9), (1, 0.9), (2, 0.8), (3, 0.7), (4, None)])
def test_what_is_needed_is_the_last_place_that_will_be_rerun(
    top: int, needed: float | None
) -> None:
    assert needed_acc([0.8, 0.9, 0.7], top) == needed


# The decision


@pytest.mark.parametrize(
    ("matrices", "n_seeds", "needed", "is_stopped"),
    [
        ([POOR], 1, 1.6 / 3 + 0.001, True),
        ([POOR], 1, 1.6 / 3, False),
        ([POOR], 1, 1.6 / 3 - 0.001, False),
        ([], 1, 0.99, False),
        ([GOOD], 1, 0.99, False),
        ([GOOD], 2, 0.99, True),
    ],
    ids=["below", "a tie", "above", "no task yet", "nothing left", "a seed left"],
)
def test_a_trial_is_stopped_when_it_ends_below_what_is_needed_and_something_is_left(
    matrices: list[Matrix], n_seeds: int, needed: float, is_stopped: bool
) -> None:
    assert is_hopeless(matrices, n_seeds, [0.9, 0.8, 0.5], needed) is is_stopped


def forgetting(random: Random, n_tasks: int) -> Matrix:
    """A run whose old tasks never improve."""
    R: Matrix = []
    for t in range(n_tasks):
        old = [value * random.uniform(0.7, 1) for value in R[-1][:t]] if R else []  # type: ignore[operator]
        R.append([*old, random.random(), *[None] * (n_tasks - t - 1)])
    return R


@pytest.mark.parametrize("seed", range(20))
def test_where_old_tasks_do_not_improve_the_best_of_all_is_never_stopped(seed: int) -> None:
    """With the ceilings of all trials; every trial is judged after each of its tasks."""
    random = Random(seed)
    trials = [forgetting(random, 5) for _ in range(30)]
    accs = [sum(R[-1]) / 5 for R in trials]  # type: ignore[arg-type]  # the last row is whole
    known, needed = ceilings(trials, 5, 0.0), max(accs)
    stopped = {
        number
        for number, R in enumerate(trials)
        for t in range(1, 5)
        if is_hopeless([R[:t]], 1, known, needed)
    }
    assert accs.index(needed) not in stopped
    assert stopped  # some are


def test_where_an_old_task_improves_the_bound_is_none() -> None:
    """The case that the documentation warns of: the second task lifts the first by far."""
    lifted: Matrix = [[0.2, None], [0.9, 0.9]]
    assert is_hopeless([lifted[:1]], 1, ceilings([lifted], 2, 0.005), needed=0.85)
