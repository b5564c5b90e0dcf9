"""Which trials are better: pure functions of their records."""

from collections.abc import Sequence

from sweeper.records import TrialRecord

Point = tuple[float, ...]  # one value per metric, higher is better


def finished(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those that went through all tasks; only they can be compared."""
    return [trial for trial in trials if trial.state == "finished"]


def pareto_front(trials: Sequence[TrialRecord], metrics: Sequence[str]) -> list[TrialRecord]:
    """The finished trials that no other one beats in a metric without losing in another."""
    done = finished(trials)
    fronts = _fronts({_point(trial, metrics) for trial in done})
    return [trial for trial in done if fronts[_point(trial, metrics)] == 0]


def ranked(trials: Sequence[TrialRecord], objective: Sequence[str]) -> list[TrialRecord]:
    """The finished trials, the best first.

    Several metrics: front by front, the first metric decides inside one. Ties go to the higher
    BWT, then to the cheaper trial.
    """
    done = finished(trials)
    fronts = _fronts({_point(trial, objective) for trial in done})
    return sorted(done, key=lambda trial: _place(trial, objective, fronts))


def _fronts(points: set[Point]) -> dict[Point, int]:
    """How many points stand in a chain above each: 0 on the Pareto front.

    What dominates a point is larger in the order of tuples too, so it has been seen before.
    """
    depths: dict[Point, int] = {}
    for point in sorted(points, reverse=True):
        above = [depth for other, depth in depths.items() if _dominates(other, point)]
        depths[point] = max(above, default=-1) + 1
    return depths


def _point(trial: TrialRecord, metrics: Sequence[str]) -> Point:
    return tuple(trial.metrics[metric] for metric in metrics)


def _dominates(a: Point, b: Point) -> bool:
    return a != b and all(x >= y for x, y in zip(a, b, strict=True))


def _place(
    trial: TrialRecord, objective: Sequence[str], fronts: dict[Point, int]
) -> tuple[float, ...]:
    point = _point(trial, objective)
    wanted = [-value for value in point]
    return (fronts[point], *wanted, -trial.metrics["bwt"], trial.seconds, trial.number)
