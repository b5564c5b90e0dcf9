"""Runs that MLflow does not have, written again from what the ledger knows of them."""

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from mpnet.config import parse_run
from sweeper import tracking
from sweeper.execution.assignment import (
    AnyAssignment,
    RerunAssignment,
    Surroundings,
    TrialAssignment,
)
from sweeper.execution.recording import Recorder, Subject
from sweeper.results.records import Record, RerunRecord, TrialRecord


def write_missing_runs(
    records: Iterable[Record], status_of: Mapping[str, str], around: Surroundings
) -> int:
    """Write the runs that are over and that MLflow lacks; gives how many.

    Args:
        records: of trials and reruns.
        status_of: final status by the key of a run; others are not over.
        around: of the sweep, with its place in MLflow.

    Raises:
        ConnectionError: MLflow is away or refuses.
    """
    assert around.tracking is not None
    known = tracking.run_ids(around.tracking)
    over = [record for record in records if record.run and record.run_key in status_of]
    missing = [record for record in over if record.run_key not in known]
    for record in missing:
        _write(_assignment(record, around), record, status_of[record.run_key])
    return len(missing)


def _assignment(record: Record, around: Surroundings) -> AnyAssignment:
    shared: dict[str, Any] = {
        "sweep": 0,
        "number": record.number,
        "key": record.key,
        "attempt": 0,
        "run": record.run,
        "seeds": record.seeds or (record.run["seed"],),
        "surroundings": around,
    }
    if isinstance(record, RerunRecord):
        return RerunAssignment(**shared, rerun=record.rerun)
    assert isinstance(record, TrialRecord)
    return TrialAssignment(**shared, values=dict(record.values))


def _write(assignment: AnyAssignment, record: Record, status: str) -> None:
    configuration = parse_run(assignment.resolved(assignment.seeds[0]))
    recorder = Recorder(Subject(assignment, configuration, node="", resources={}))
    for place, (R, curve) in enumerate(zip(record.R, record.curves, strict=True)):
        n_steps = len(R) * configuration.training.epochs
        for step, loss, accuracy in curve:
            recorder.epoch({"loss": loss, "accuracy": accuracy}, place * n_steps + int(step))
        for t, row in enumerate(R):
            by_task = {f"acc_task_{i + 1}": float(row[i] or 0.0) for i in range(t + 1)}
            acc = {"acc": fmean(by_task.values())}
            recorder.task({**acc, **by_task}, place * len(R) + t + 1)
    if record.R:
        recorder.outcome(vars(record))
    recorder.close(status, record.reason or "")
