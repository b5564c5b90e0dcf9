"""How a configuration went on from task to task: a pure function of its accuracy matrices."""

from collections.abc import Sequence

from sweeper.results.records import Matrix


def acc_after_tasks(matrices: Sequence[Matrix]) -> list[float]:
    """ACC over the tasks so far after each of them, the mean of the seeds that came so far.

    Args:
        matrices: one per seed; some may have fewer rows than others.
    """
    longest = max(map(len, matrices), default=0)
    rows = [[R[t][: t + 1] for R in matrices if t < len(R)] for t in range(longest)]
    return [_mean([_mean(row) for row in of_seeds]) for of_seeds in rows]


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)
