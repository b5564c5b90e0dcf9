"""Whether a trial can still come among the best: pure functions of accuracy matrices.

After task t no trial ends above (sum over i <= t of R[t, i] + l_t + sum over i > t of c_i) / T, if
c_i is the most that a trial can reach on task i and l_t the most by which old tasks can improve,
all together. Here c_i is the best R[i, i] that any trial has shown, plus some slack, and l_t the
most by which tasks up to t have ever improved after it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sweeper.results.records import Matrix

_ROUNDING = 1e-9  # sums of the same accuracies in another order differ by less


class Shown(NamedTuple):
    """What a run has shown after so many tasks.

    Args:
        fresh: the accuracy of each task right after its training.
        lifts: by how much the accuracies of all tasks so far have risen together, after each task.
    """

    fresh: list[float]
    lifts: list[float]


def shown_by(R: Matrix) -> Shown:
    """The same of a matrix, whole or as far as it came."""
    fresh = [_sum(row[t : t + 1]) for t, row in enumerate(R)]
    lifts = [
        max(0.0, *(_sum(later[: t + 1]) - _sum(row[: t + 1]) for later in R[t:]))
        for t, row in enumerate(R)
    ]
    return Shown(fresh, lifts)


class Prospects(NamedTuple):
    """The most that is to be expected of the rest of a run.

    Args:
        ceilings: the accuracy of each task right after its training.
        lifts: by how much the accuracies of all tasks so far may rise together, after each task.
    """

    ceilings: list[float]
    lifts: list[float]


def prospects(runs: Iterable[Shown], n_tasks: int, slack: float) -> Prospects:
    """What is to be expected by all that was shown.

    Args:
        runs: all trials and seeds.
        n_tasks: of a whole run.
        slack: by how much a task may come out better than in all trials; an accuracy is 1 at most.
    """
    best, lifts = [-1.0] * n_tasks, [0.0] * n_tasks
    for run in runs:
        for t, (fresh, lift) in enumerate(zip(*run, strict=True)):
            best[t], lifts[t] = max(best[t], fresh), max(lifts[t], lift)
    ceilings = [1.0 if found < 0 else min(1.0, found + slack) for found in best]
    return Prospects(ceilings, lifts)


def is_hopeless(
    matrices: Sequence[Matrix], n_seeds: int, expected: Prospects, needed: float
) -> bool:
    """Whether a trial ends below what is needed, come what may.

    Nobody is judged before the first task or after the last one.
    """
    n_done, n_tasks = sum(map(len, matrices)), n_seeds * len(expected.ceilings)
    return 0 < n_done < n_tasks and highest_acc(matrices, n_seeds, expected) < needed - _ROUNDING


def highest_acc(matrices: Sequence[Matrix], n_seeds: int, expected: Prospects) -> float:
    """The ACC that a trial can reach at most, the mean over its seeds.

    Args:
        matrices: one per seed that has ended a task, as far as it came.
        n_seeds: of the whole trial; a seed without a task behind it can reach every ceiling.
        expected: of the rest of a run.
    """
    ceilings = expected.ceilings
    n_unseen = n_seeds - len(matrices)
    sums = [_highest_sum(R, expected) for R in matrices] + n_unseen * [sum(ceilings)]
    return sum(sums) / (n_seeds * len(ceilings))


def _highest_sum(R: Matrix, expected: Prospects) -> float:
    n_done = len(R)
    is_whole = n_done == len(expected.ceilings)
    lift = 0.0 if is_whole else expected.lifts[n_done - 1]
    return min(n_done, _sum(R[-1][:n_done]) + lift) + sum(expected.ceilings[n_done:])


def _sum(accuracies: Sequence[float | None]) -> float:
    return sum(accuracy for accuracy in accuracies if accuracy is not None)


def needed_acc(finished: Sequence[float], top: int) -> float | None:
    """The ACC below which a trial is not among the best; None as long as any may be.

    Args:
        finished: the ACC of each trial that went through all tasks.
        top: how many of them will be rerun; the best one counts even if none is.
    """
    place = max(1, top)
    return sorted(finished, reverse=True)[place - 1] if len(finished) >= place else None
