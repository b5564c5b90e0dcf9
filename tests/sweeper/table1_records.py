"""Made-up sweeps for the paper's table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sweeper.config.space import with_values
from sweeper.config.sweep import parse_sweep
from sweeper.ledger import Ledger, Stage
from sweeper.report.table1.cells import SweepHistory
from sweeper.report.table1.protocol import BATCH_SIZE, EPOCHS
from sweeper.results.records import Rerun, RerunRecord, TrialRecord
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


def write_sweep(folder: Path) -> None:
    """A real ledger of a finished sweep: trials 0.8 and 0.9, reruns 0.85 and 0.95."""
    folder.mkdir(parents=True)
    begun = recorded({"name": "ewc"}, select={"seeds": 2})
    ledger, run = Ledger(folder), begun.bound_runs[0]
    ledger.begin(begun.sweep)
    ledger.bound_runs = begun.bound_runs
    _run_all(ledger.search(begun.sweep), run, [0.8, 0.9])
    _run_all(ledger.reruns([Rerun(1, seed) for seed in (1, 2)]), run, [0.85, 0.95])


def _run_all(stage: Stage[Any], run: Mapping[str, Any], scores: list[float]) -> None:
    for acc in scores:
        asked = stage.ask()
        assert asked is not None
        stage.note_run(asked.number, run)
        R = [[acc, None], [acc, acc]]
        outcome = {"metrics": {"acc": acc, "bwt": 0.0}, "seeds": [0], "R": [R], "seconds": 1.0}
        stage.finish(asked.number, outcome)
    assert stage.ask() is None
