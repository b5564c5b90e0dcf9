"""What a worker is told, made up."""

from typing import Any

from sweeper.execution.assignment import RerunAssignment, Surroundings, TrialAssignment
from sweeper.results.records import Rerun

RUN: dict[str, Any] = {"method": {"name": "ft"}, "split": "validation", "seed": 0}


def trial(**changes: Any) -> TrialAssignment:
    return TrialAssignment(**{**_common(), "values": {"a": 1}, **changes})


def rerun(**changes: Any) -> RerunAssignment:
    return RerunAssignment(**{**_common(), "rerun": Rerun(3, 7), "seeds": (7,), **changes})


def _common() -> dict[str, Any]:
    what = {"run": RUN, "seeds": (0,), "surroundings": Surroundings("/storage")}
    return {"sweep": 0, "number": 3, "key": "key", "attempt": 0, **what}
