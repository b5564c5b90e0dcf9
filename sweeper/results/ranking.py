"""Which trials are better: pure functions of their records."""

from bisect import bisect_left
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from sweeper.config.groups import Group, group_of
from sweeper.results.records import Record, TrialRecord

Some = TypeVar("Some", bound=Record)

Point = tuple[float, ...]  # one value per metric, higher is better


def finished(trials: Sequence[Some]) -> list[Some]:
    """The trials that went through all tasks; only they can be compared."""
    return [trial for trial in trials if trial.state == "finished"]


def by_group(
    trials: Sequence[TrialRecord], paths: Sequence[str]
) -> dict[Group, list[TrialRecord]]:
    """The trials of each group that has any."""
    found: dict[Group, list[TrialRecord]] = {}
    for trial in trials:
        found.setdefault(group_of(trial.values, paths), []).append(trial)
    return found


def pareto_front(trials: Sequence[TrialRecord], metrics: Sequence[str]) -> list[TrialRecord]:
    """The finished trials that no other one beats in a metric without losing in another."""
    done = finished(trials)
    front: list[Point] = []
    for point in sorted({_point(trial, metrics) for trial in done}, reverse=True):
        if _has_room(front, point):
            front.append(point)
    best = set(front)
    return [trial for trial in done if _point(trial, metrics) in best]


def ranked(trials: Sequence[TrialRecord], objective: Sequence[str]) -> list[TrialRecord]:
    """The finished trials, the best first.

    Several metrics: front by front, the first metric decides inside one. Ties go to the higher
    BWT, then to the cheaper trial.
    """
    done = finished(trials)
    fronts = _fronts({_point(trial, objective) for trial in done}) if len(objective) > 1 else {}
    return sorted(done, key=lambda trial: _place(trial, objective, fronts))


def _fronts(points: set[Point]) -> dict[Point, int]:
    """Which front each point belongs to: 0 is the Pareto front, 1 the front of the rest, ...

    What dominates a point is larger in the order of tuples too, so it has been seen before; and
    where one front has such a point, all before it have one, so the place can be bisected. Of two
    metrics only the second is left to compare, and the last point of a front has the best of it.
    """
    fronts: list[list[Point]] = []
    places: dict[Point, int] = {}
    for point in sorted(points, reverse=True):
        place = bisect_left(fronts, True, key=partial(_has_room, point=point))
        if place == len(fronts):
            fronts.append([])
        fronts[place].append(point)
        places[point] = place
    return places


def _has_room(front: list[Point], point: Point) -> bool:
    seen = front[-1:] if len(point) <= 2 else reversed(front)
    return not any(_dominates(other, point) for other in seen)


def _point(trial: TrialRecord, metrics: Sequence[str]) -> Point:
    return tuple(trial.metrics[metric] for metric in metrics)


def _dominates(a: Point, b: Point) -> bool:
    return a != b and all(x >= y for x, y in zip(a, b, strict=True))


def _place(
    trial: TrialRecord, objective: Sequence[str], fronts: dict[Point, int]
) -> tuple[float, ...]:
    point = _point(trial, objective)
    wanted = [-value for value in point]
    return (
        fronts.get(point, 0),
        *wanted,
        -trial.metrics["bwt"],
        trial.seconds_alone,
        trial.number,
    )
