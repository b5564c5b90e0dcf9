"""The service without `mpnet`: any function as the trial, on the real ledger and the real Tune."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver import cluster, dispatch
from sweeper.driver.active import ActiveSweep
from sweeper.driver.cluster import Share
from sweeper.driver.preparation import OpenedSweep, PreparedSweep
from sweeper.driver.sweep_queue import SweepQueue
from sweeper.driver.watching import RayWatch
from sweeper.execution.assignment import AnyAssignment
from sweeper.ledger import Ledger
from sweeper.results.records import Record, TrialRecord

N_STEPS = 10


class Nobody:
    """Listens to nothing."""

    def started(self, assignment: AnyAssignment) -> None:
        """Nothing."""

    def reported(self, assignment: AnyAssignment, metrics: Mapping[str, Any]) -> None:
        """Nothing."""

    def ended(self, assignment: AnyAssignment, record: Record) -> None:
        """Nothing."""


class PlainSweep(ActiveSweep):
    """A sweep whose trials are no runs of `mpnet`, without MLflow."""

    def _opened_tracking(self) -> None:  # type: ignore[override]
        return None

    def _resolved(self, asked: Any) -> dict[str, Any]:
        return {"seed": 0, "training": {"epochs": 1}}

    def _first_tasks(self, what: Any) -> tuple[str, ...]:
        return ()

    @property
    def n_steps(self) -> int:
        return N_STEPS


def plain_sweep(
    sweep: Sweep, folder: Path, share: Share, place: int = 0, most: int | None = None
) -> PlainSweep:
    """One that is ready to be asked."""
    prepared = PreparedSweep(OpenedSweep(sweep, Ledger(folder)), "", [], share)
    return PlainSweep(place, prepared, most if most is not None else share.at_once)


def run_sweeps(
    trainable: Callable[[dict[str, Any]], object], sweeps: Sequence[ActiveSweep]
) -> float:
    """The seconds that a queue took; Ray must run."""
    nodes = cluster.nodes()
    devices = sum(cpus for cpus, _ in nodes), sum(gpus for _, gpus in nodes)
    queue = SweepQueue(sweeps, devices, Nobody(), lambda _: None)
    start = time.perf_counter()
    n_devices = max(s.prepared.share.at_once for s in sweeps)
    dispatch.run_queue(queue, trainable, n_devices, RayWatch([]))
    return time.perf_counter() - start


def run_trials(
    trainable: Callable[[dict[str, Any]], object], n_trials: int, share: Share, folder: Path
) -> tuple[float, list[TrialRecord]]:
    """The seconds that a search took, and its finished trials; Ray must run."""
    blocks = {
        "run": {},
        "space": {"x": {"uniform": [0, 1]}},
        "sweep": {"trials": n_trials, "sampler": "random"},
        "select": {"top": 0},
    }
    active = plain_sweep(parse_sweep(blocks, "empty"), folder, share)
    seconds = run_sweeps(trainable, [active])
    finished = [r for r in active.ledger.trial_records() if r.state == "finished"]
    assert len(finished) == n_trials
    return seconds, finished
