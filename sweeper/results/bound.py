"""Whether a trial can still come among the best: pure functions of accuracy matrices.

After task t no trial ends above (sum over i <= t of R[t, i] + sum over i > t of c_i) / T, if old
tasks do not improve and c_i is the most that a trial can reach on task i. Here c_i is the best
R[i, i] that any trial has shown, plus some slack.
"""

from collections.abc import Iterable, Sequence

from sweeper.results.records import Matrix

_ROUNDING = 1e-9  # sums of the same accuracies in another order differ by less


def ceilings(matrices: Iterable[Matrix], n_tasks: int, slack: float) -> list[float]:
    """The most that is to be expected of each task right after its training.

    Args:
        matrices: of all trials and seeds, whole or as far as they came.
        n_tasks: of a whole run.
        slack: by how much a trial may outdo all others; an accuracy stays 1 at most.
    """
    shown: list[list[float]] = [[] for _ in range(n_tasks)]
    for R in matrices:
        for i, row in enumerate(R):
            if (accuracy := row[i]) is not None:
                shown[i].append(accuracy)
    return [min(1.0, max(found) + slack) if found else 1.0 for found in shown]


def is_hopeless(
    matrices: Sequence[Matrix], n_seeds: int, ceilings: Sequence[float], needed: float
) -> bool:
    """Whether a trial ends below what is needed, come what may.

    Nobody is judged before the first task or after the last one.
    """
    n_done, n_tasks = sum(map(len, matrices)), n_seeds * len(ceilings)
    return 0 < n_done < n_tasks and highest_acc(matrices, n_seeds, ceilings) < needed - _ROUNDING


def highest_acc(matrices: Sequence[Matrix], n_seeds: int, ceilings: Sequence[float]) -> float:
    """The ACC that a trial can reach at most, the mean over its seeds.

    Args:
        matrices: one per seed that has ended a task, as far as it came.
        n_seeds: of the whole trial; a seed without a task behind it can reach every ceiling.
        ceilings: one per task.
    """
    n_unseen = n_seeds - len(matrices)
    sums = [_highest_sum(R, ceilings) for R in matrices] + n_unseen * [sum(ceilings)]
    return sum(sums) / (n_seeds * len(ceilings))


def _highest_sum(R: Matrix, ceilings: Sequence[float]) -> float:
    n_done = len(R)
    known = [accuracy for accuracy in R[-1][:n_done] if accuracy is not None] if R else []
    return sum(known) + sum(ceilings[n_done:])


def needed_acc(finished: Sequence[float], top: int) -> float | None:
    """The ACC below which a trial is not among the best; None as long as any may be.

    Args:
        finished: the ACC of each trial that went through all tasks.
        top: how many of them will be rerun; the best one counts even if none is.
    """
    place = max(1, top)
    return sorted(finished, reverse=True)[place - 1] if len(finished) >= place else None
