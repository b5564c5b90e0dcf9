"""Studies on a real journal, asked and told as Tune does."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sweeper.ledger import Ledger, search_of
from sweeper.records import State
from sweeper.space import Values
from sweeper.study import Study, key_of
from sweeper.sweep import Sweep, parse_sweep

GRID: dict[str, Any] = {"a": {"grid": [1, 2, 3]}, "b": {"choice": ["x", "y"]}}
BRANCHED: dict[str, Any] = {
    "name": {"choice": ["ft", "lra"]},
    "alpha": {"grid": [1, 2, 3], "when": {"name": "lra"}},
}
FLOATS: dict[str, Any] = {"x": {"uniform": [0, 1]}, "y": {"log_uniform": [1e-5, 1e-1]}}


def swept(space: dict[str, Any] = GRID, **settings: Any) -> Sweep:
    return parse_sweep({"run": {}, "space": space, "sweep": settings}, "s")


def opened(folder: Path, sweep: Sweep) -> Study:
    """What a driver does first."""
    ledger = Ledger(folder)
    ledger.begin(sweep)
    study = ledger.open(search_of(sweep))
    study.release_running()
    return study


def outcome(acc: float, bwt: float = 0.0) -> dict[str, Any]:
    return {"metrics": {"acc": acc, "bwt": bwt}, "seeds": [0], "R": [[[acc]]], "seconds": 1.5}


def asked(study: Study) -> tuple[int, Values]:
    """What Tune does for a new trial."""
    trial = study.study.ask()
    return trial.number, study.suggest(trial)


def started(study: Study) -> Iterator[tuple[int, Values]]:
    """New trials as long as some are wanted."""
    while study.wants_more():
        number, values = asked(study)
        if study.accept(number, values):
            yield number, values


def start(study: Study) -> tuple[int, Values]:
    return next(started(study))


def finish_all(study: Study) -> list[Values]:
    """Run what is left; a configuration is better the smaller its key."""
    done = []
    for number, values in started(study):
        study.finish(number, outcome(1 / (1 + int(key_of(values), 16))))
        done.append(values)
    return done


def states(study: Study) -> list[State]:
    return [record.state for record in study.records()]


def is_over(study: Study) -> list[Values]:
    """The configurations with an end."""
    ends = ("finished", "failed", "stopped")
    return [dict(record.values) for record in study.records() if record.state in ends]
