"""Made-up sweeps for the paper's table."""

from collections.abc import Sequence
from typing import Any

from sweeper.records import TrialRecord
from sweeper.sweep import parse_sweep
from sweeper.table1 import Recorded
from tests.sweeper.records import finished, rerun

TWO_TASKS = {"name": "split_mnist", "n_tasks": 2}
TRIALS = [finished(0, 0.90, -0.01, values={}), finished(1, 0.92, -0.03, values={})]
TESTS = [  # of trial 1, the best: ACC 0.95 ± 0.02, BWT -0.04 ± 0.02
    rerun(0, 1, 100, 0.93, -0.02),
    rerun(1, 1, 101, 0.95, -0.04),
    rerun(2, 1, 102, 0.97, -0.06),
]
FAILED = [TrialRecord(number, "key", {}, "failed", reason="Diverged") for number in (0, 1)]


def recorded(
    method: dict[str, Any],
    trials: Sequence[TrialRecord] = TRIALS,
    tests: Sequence[TrialRecord] = TESTS,
    benchmark: dict[str, Any] = TWO_TASKS,
    folder: str = "a",
    space: dict[str, Any] | None = None,
    select: dict[str, Any] | None = None,
    **training: Any,
) -> Recorded:
    """A sweep of two trials and three test seeds, complete unless told otherwise."""
    blocks = {
        "run": {"benchmark": benchmark, "method": method, "training": training},
        "space": space or {"layers.rho": {"uniform": [-18, -10]}},
        "sweep": {"sampler": "random", "trials": 2},
        "select": select or {"seeds": 3},
    }
    return Recorded(folder, parse_sweep(blocks, "s"), trials, tests)
