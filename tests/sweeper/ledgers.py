"""Stages on a real journal, asked and told as a driver does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sweeper.config.space import Values
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.ledger import Ledger, RerunStage, SearchStage, key_of, key_of_rerun
from sweeper.results.records import FINAL_STATES, Rerun, State

GRID: dict[str, Any] = {"a": {"grid": [1, 2, 3]}, "b": {"choice": ["x", "y"]}}
BRANCHED: dict[str, Any] = {
    "name": {"choice": ["ft", "lra"]},
    "alpha": {"grid": [1, 2, 3], "when": {"name": "lra"}},
}
FLOATS: dict[str, Any] = {"x": {"uniform": [0, 1]}, "y": {"log_uniform": [1e-5, 1e-1]}}


def swept(space: dict[str, Any] = GRID, **settings: Any) -> Sweep:
    return parse_sweep({"run": {}, "space": space, "sweep": settings}, "s")


def opened(folder: Path, sweep: Sweep) -> SearchStage:
    """What a driver does first."""
    ledger = Ledger(folder)
    ledger.begin(sweep)
    stage = ledger.search(sweep)
    stage.settle()
    return stage


def outcome(acc: float, bwt: float = 0.0) -> dict[str, Any]:
    return {"metrics": {"acc": acc, "bwt": bwt}, "seeds": [0], "R": [[[acc]]], "seconds": 1.5}


def started(stage: SearchStage) -> Iterator[tuple[int, Values]]:
    """New trials as long as some are wanted."""
    while asked := stage.ask():
        yield asked.number, asked.what


def start(stage: SearchStage) -> tuple[int, Values]:
    return next(started(stage))


def finish_all(stage: SearchStage) -> list[Values]:
    """Run what is left; a configuration is better the smaller its key."""
    done = []
    for number, values in started(stage):
        stage.finish(number, outcome(1 / (1 + int(key_of(values), 16))))
        done.append(values)
    return done


def rerun_all(stage: RerunStage) -> list[Rerun]:
    """Run what is left of the reruns."""
    done = []
    while asked := stage.ask():
        assert asked.key == key_of_rerun(asked.what)
        stage.finish(asked.number, outcome(0.5))
        done.append(asked.what)
    return done


def states(folder: Path) -> list[State]:
    return [record.state for record in Ledger(folder).trial_records()]


def is_over(folder: Path) -> list[Values]:
    """The configurations with an end."""
    records = Ledger(folder).trial_records()
    return [dict(record.values) for record in records if record.state in FINAL_STATES]


def keys_of(points: list[Values]) -> list[str]:
    return sorted(map(key_of, points))


def all_keys(sweep: Sweep) -> list[str]:
    return keys_of(list(sweep.space.points()))
