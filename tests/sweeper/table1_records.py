"""Made-up sweeps for the paper's table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sweeper.config.space import with_values
from sweeper.config.sweep import parse_sweep
from sweeper.report.table1.cells import SweepHistory
from sweeper.report.table1.paper import BATCH_SIZE, EPOCHS
from sweeper.results.records import RerunRecord, TrialRecord
from tests.sweeper.records import failed, finished, rerun

TWO_TASKS = {"name": "split_mnist", "n_tasks": 2}
TRIALS = [finished(0, 0.90, -0.01, values={}), finished(1, 0.92, -0.03, values={})]
TESTS = [  # of trial 1, the best: ACC 0.95 ± 0.02, BWT -0.04 ± 0.02
    rerun(0, 1, 100, 0.93, -0.02),
    rerun(1, 1, 101, 0.95, -0.04),
    rerun(2, 1, 102, 0.97, -0.06),
]
FAILED = [replace(failed(number, "Diverged"), values={}) for number in (0, 1)]


def recorded(
    method: dict[str, Any],
    trials: Sequence[TrialRecord] = TRIALS,
    tests: Sequence[RerunRecord] = TESTS,
    benchmark: dict[str, Any] = TWO_TASKS,
    folder: str = "a",
    space: dict[str, Any] | None = None,
    select: dict[str, Any] | None = None,
    **training: Any,
) -> SweepHistory:
    """A sweep of two trials and three test seeds, complete unless told otherwise.

    Its runs count as resolved: what is not said of the training is the paper's.
    """
    training = {"epochs": EPOCHS, "batch_size": BATCH_SIZE, **training}
    run = {"benchmark": benchmark, "method": method, "training": training}
    blocks = {
        "run": run,
        "space": space or {"layers.rho": {"uniform": [-18, -10]}},
        "sweep": {"sampler": "random", "trials": 2},
        "select": select or {"seeds": 3},
    }
    sweep = parse_sweep(blocks, "s")
    ran = [replace(trial, run=with_values(run, dict(trial.values))) for trial in trials]
    bound = [with_values(run, values) for values in sweep.space.corners()]
    return SweepHistory(folder, sweep, ran, _again(tests, ran), bound)


def _again(tests: Sequence[RerunRecord], trials: Sequence[TrialRecord]) -> list[RerunRecord]:
    """Reruns with the runs of their trials, on the test sets and with their own seeds."""
    runs = {trial.number: {**trial.run, "split": "test"} for trial in trials}
    return [
        replace(one, run={**runs[one.rerun.configuration], "seed": one.rerun.seed})
        for one in tests
    ]
