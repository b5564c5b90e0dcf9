"""What a test does with a sweep in MLflow, and finds there."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlflow import MlflowClient
from mlflow.entities import Run

from sweeper.tracking import RunLog, Tracking, open_sweep


def opened(uri: str, folder: Path, sweep_id: str = "s1") -> Tracking:
    tags, params = {"method": "lra"}, {"sweep": {"trials": 4}}
    artifacts = {"sweep.yaml": "run: {}"}
    return open_sweep(
        uri, "digits", sweep_id, "lra on digits", folder / "outbox", tags, params, artifacts
    )


def log_of(sweep: Tracking, key: str = "a", **options: Any) -> RunLog:
    return RunLog(sweep, key, f"trial {key}", {"lr": 0.1}, {"method": "lra"}, **options)


def log_steps(log: RunLog, steps: range) -> None:
    for step in steps:
        log.metrics({"loss": 1.0 / (step + 1), "acc": step / 10}, step)


def kill(log: RunLog) -> None:
    """What is left of a log when its process is killed: nothing."""
    log._closing.set()
    log._abandoned.set()
    log._thread.join()


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def runs(sweep: Tracking, role: str = "trial") -> list[Run]:
    query = f"tags.`sweeper.role` = '{role}'"
    return list(MlflowClient(sweep.uri).search_runs([sweep.experiment_id], query))


def the_run(sweep: Tracking, role: str = "trial") -> Run:
    [run] = runs(sweep, role)
    return run


def steps(sweep: Tracking, key: str = "loss") -> list[int]:
    """The steps of a metric in the order of their logging, repetitions included."""
    history = MlflowClient(sweep.uri).get_metric_history(the_run(sweep).info.run_id, key)
    return sorted(point.step for point in history)


def artifact(sweep: Tracking, run: Run, path: str) -> str:
    return Path(run.info.artifact_uri.removeprefix("file://"), path).read_text()


def leave_record(sweep: Tracking, steps: range) -> Path:
    """Leave a failed trial in the outbox."""
    log = log_of(replace(sweep, uri="http://127.0.0.1:9"))
    log_steps(log, steps)
    log.artifact("R.json", "[]")
    log.close("FAILED", patience=0.0)
    log._thread.join()
    [path] = Path(sweep.outbox).glob("*.json")
    return path
