"""Which trials are better: pure functions of their records."""

from collections.abc import Sequence

from sweeper.records import TrialRecord


def finished(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Those that went through all tasks; only they can be compared."""
    return [trial for trial in trials if trial.state == "finished"]


def pareto_front(trials: Sequence[TrialRecord], metrics: Sequence[str]) -> list[TrialRecord]:
    """The finished trials that no other one beats in one metric and equals in the rest."""
    points = {trial.number: _point(trial, metrics) for trial in finished(trials)}
    return [
        trial
        for trial in finished(trials)
        if not any(_dominates(other, points[trial.number]) for other in points.values())
    ]


def ranked(trials: Sequence[TrialRecord], objective: Sequence[str]) -> list[TrialRecord]:
    """The finished trials, the best first.

    Several metrics: front by front, the first metric decides inside one. Ties go to the higher
    BWT, then to the cheaper trial.
    """
    remaining, order = finished(trials), list[TrialRecord]()
    while remaining:
        front = pareto_front(remaining, objective)
        order += sorted(front, key=lambda trial: _place(trial, objective))
        chosen = {trial.number for trial in front}
        remaining = [trial for trial in remaining if trial.number not in chosen]
    return order


def _point(trial: TrialRecord, metrics: Sequence[str]) -> tuple[float, ...]:
    return tuple(trial.metrics[metric] for metric in metrics)


def _dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a != b and all(x >= y for x, y in zip(a, b, strict=True))


def _place(trial: TrialRecord, objective: Sequence[str]) -> tuple[float, ...]:
    wanted = [-value for value in _point(trial, objective)]
    return (*wanted, -trial.metrics["bwt"], trial.seconds, trial.number)
