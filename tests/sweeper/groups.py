"""A made-up sweep that compares five groups, and what came of it."""

from collections.abc import Sequence
from typing import Any

from sweeper.config.groups import Group
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.results.records import RerunRecord, TrialRecord
from tests.sweeper.records import finished, rerun

SPACE: dict[str, Any] = {
    "method.name": {"choice": ["lra", "ppbi", "ft"]},
    "method.measure": {"choice": ["var", "uniform"], "when": {"method.name": ["lra", "ppbi"]}},
    "method.alpha": {"grid": [1, 2]},
}
LRA, LRA_UNIFORM, PPBI, PPBI_UNIFORM, FT = (
    (("method.name", "lra"), ("method.measure", "var")),
    (("method.name", "lra"), ("method.measure", "uniform")),
    (("method.name", "ppbi"), ("method.measure", "var")),
    (("method.name", "ppbi"), ("method.measure", "uniform")),
    (("method.name", "ft"),),
)
GROUPS: list[Group] = [LRA, LRA_UNIFORM, PPBI, PPBI_UNIFORM, FT]


def swept(each: Sequence[str] = ("method.name", "method.measure"), **select: Any) -> Sweep:
    blocks = {
        "run": {},
        "space": SPACE,
        "sweep": {"sampler": "grid"},
        "select": {"each": list(each), **select},
    }
    return parse_sweep(blocks, "compared")


def trial(number: int, group: Group, acc: float) -> TrialRecord:
    return finished(number, acc, -0.1, values={**dict(group), "method.alpha": 1})


def reruns_of(configuration: int, *accs: float, first_seed: int = 1) -> list[RerunRecord]:
    return [
        rerun(0, configuration, first_seed + place, acc, acc - 1) for place, acc in enumerate(accs)
    ]


TRIALS = [
    trial(0, LRA, 0.95),
    trial(1, LRA, 0.97),
    trial(2, LRA_UNIFORM, 0.94),
    trial(3, PPBI, 0.93),
    trial(4, PPBI_UNIFORM, 0.92),
    trial(5, FT, 0.50),
]
TESTS = [
    *reruns_of(0, 0.99, 0.99),  # of another selection: better, but not by validation data
    *reruns_of(1, 0.90, 0.92),
    *reruns_of(2, 0.80, 0.84),
    *reruns_of(3, 0.91, 0.94),
    *reruns_of(4, 0.70, 0.70),
    *reruns_of(5, 0.40, 0.50),
]
