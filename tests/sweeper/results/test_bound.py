"""Whether a trial can still win: matrices by hand, and whole trials cut short at every task."""

from random import Random

import pytest

from sweeper.results.bound import Prospects, highest_acc, is_hopeless, needed_acc, shown_by
from sweeper.results.bound import prospects as prospects_of
from sweeper.results.records import Matrix

GOOD: Matrix = [[0.9, None, None], [0.8, 0.7, None], [0.8, 0.6, 0.5]]
POOR: Matrix = [[0.6, None], [0.3, 0.8]]  # after two of three tasks
LIFTED: Matrix = [[0.2, None, None], [0.5, 0.4, None], [0.4, 0.6, 0.5]]
KNOWN = Prospects([0.9, 0.8, 0.5], [0.0, 0.0, 0.0])


def prospects(matrices: list[Matrix], n_tasks: int, slack: float) -> Prospects:
    return prospects_of(map(shown_by, matrices), n_tasks, slack)


# Ceilings


def test_a_ceiling_is_the_best_that_any_trial_has_shown_right_after_the_task_and_slack() -> None:
    assert prospects([GOOD, POOR], 3, 0.05).ceilings == pytest.approx([0.95, 0.85, 0.55])


def test_a_task_that_nobody_has_ended_has_no_ceiling() -> None:
    assert prospects([POOR], 4, 0.1).ceilings == pytest.approx([0.7, 0.9, 1, 1])
    assert prospects([], 2, 0.1) == ([1, 1], [0, 0])


def test_no_accuracy_is_above_one() -> None:
    assert prospects([[[0.99]]], 1, 0.05).ceilings == [1]


def test_a_lift_is_the_most_by_which_old_tasks_have_improved_together() -> None:
    assert prospects([GOOD, POOR], 3, 0.05).lifts == [0, 0, 0]
    assert prospects([GOOD, LIFTED], 3, 0.05).lifts == pytest.approx([0.3, 0.1, 0])
    assert prospects([GOOD, LIFTED[:2]], 3, 0.05).lifts == pytest.approx([0.3, 0, 0])


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
    assert highest_acc(matrices, n_seeds, KNOWN) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("R", "expected"),
    [
        (POOR, (0.3 + 0.8 + 0.2 + 0.5) / 3),
        (POOR[:1], (0.6 + 0.1 + 0.8 + 0.5) / 3),
        ([[0.95]], (1 + 0.8 + 0.5) / 3),
        (GOOD, 1.9 / 3),
    ],
    ids=["two tasks", "one task", "to 1 at most", "none left to lift it"],
)
def test_old_tasks_may_improve_as_much_as_any_trial_has_shown(R: Matrix, expected: float) -> None:
    known = KNOWN._replace(lifts=[0.1, 0.2, 0.0])
    assert highest_acc([R], 1, known) == pytest.approx(expected)


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
    assert is_hopeless(matrices, n_seeds, KNOWN, needed) is is_stopped


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
    known, needed = prospects(trials, 5, 0.0), max(accs)
    stopped = {
        number
        for number, R in enumerate(trials)
        for t in range(1, 5)
        if is_hopeless([R[:t]], 1, known, needed)
    }
    assert accs.index(needed) not in stopped
    assert stopped  # some are


def test_an_old_task_that_improves_more_than_ever_before_breaks_the_bound() -> None:
    """The case that the documentation warns of: the second task lifts the first by far."""
    lifted: Matrix = [[0.2, None], [0.9, 0.9]]
    before = prospects([[[0.8, None], [0.8, 0.9]]], 2, 0.005)
    assert is_hopeless([lifted[:1]], 1, before, needed=0.85)
    assert not is_hopeless([lifted[:1]], 1, prospects([lifted], 2, 0.005), needed=0.85)
