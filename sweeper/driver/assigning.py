"""From what a ledger asks for to what a worker is told."""

from collections.abc import Mapping
from typing import Any

from sweeper.config.sweep import Sweep
from sweeper.driver import binding
from sweeper.driver.preparation import PreparedSweep
from sweeper.execution.assignment import (
    AnyAssignment,
    RerunAssignment,
    Surroundings,
    TrialAssignment,
)
from sweeper.ledger import Asked
from sweeper.results.records import Rerun, StageName
from sweeper.tracking import Tracking

_KEPT: dict[str, tuple[StageName, ...]] = {
    "none": (),
    "test": ("test",),
    "all": ("search", "test"),
}


def surroundings(prepared: PreparedSweep, tracked: Tracking | None, command: str) -> Surroundings:
    """What all trials of a sweep are told alike."""
    settings = prepared.sweep.settings
    return Surroundings(
        storage=prepared.opened.storage,
        first_tasks=prepared.opened.first_tasks,
        tracking=tracked,
        checkpoint_epochs=settings.checkpoint_epochs,
        checkpoint_minutes=settings.checkpoint_minutes,
        keep_runs=_KEPT[settings.keep_runs],
        report_seconds=0.5 if settings.scheduler in ("none", "bound") else 0.0,
        command=command,
        cpu=prepared.share.cpu,
        gpu=prepared.share.gpu,
    )


def assigned(
    place: int, asked: Asked[Any], run: Mapping[str, Any], around: Surroundings, sweep: Sweep
) -> AnyAssignment:
    """A trial or a rerun, complete, so that a worker asks nobody.

    Args:
        place: of the sweep in the queue.
        asked: by its ledger.
        run: resolved, every default filled in.
        around: what all trials of the sweep share.
        sweep: what is asked for.
    """
    shared: dict[str, Any] = {
        "sweep": place,
        "number": asked.number,
        "key": asked.key,
        "attempt": asked.attempt,
        "run": run,
        "surroundings": around,
    }
    if isinstance(asked.what, Rerun):
        return RerunAssignment(**shared, seeds=(asked.what.seed,), rerun=asked.what)
    seeds = binding.search_seeds(run, sweep.settings.repeats)
    return TrialAssignment(**shared, seeds=seeds, values=asked.what)
