"""The way of a run into MLflow: each run and each point once, however often they are sent."""

import base64
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper._outbox import End, Event, File, Point, Start
from sweeper._store import connect

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

SWEEP, KEY, ROLE, STATUS = "sweeper.sweep", "sweeper.key", "sweeper.role", "sweeper.status"
_NONE: Mapping[str, str] = {}


class Delivery:
    """One run's link to MLflow; every method raises if the store is away or refuses."""

    def __init__(self, uri: str, experiment_id: str, start: Start) -> None:
        self._uri, self._experiment_id, self._start = uri, experiment_id, start
        self._run: Run | None = None
        self._is_new = False
        self._params: dict[str, str] = {}
        self._last: dict[str, int] = {}

    def attach(self) -> "Run":
        """Find the run by its tags or create it; the attempt after a lost answer finds it."""
        if self._run is None:
            self._client = connect(self._uri)
            run = self._found() or self._created()
            missing = self._start.params.keys() - run.data.params.keys()  # values cannot change
            self._params = {name: self._start.params[name] for name in missing}
            self._last = {metric.key: metric.step for metric in run.data.to_proto().metrics}
            self._run = run
        return self._run

    def open(self) -> None:
        """Show the run as running, with its parameters and the tags of now."""
        run = self.attach()
        self._log(run, [], self._start.tags)
        if not self._is_new:
            self._client.update_run(run.info.run_id, status="RUNNING")

    def send(self, events: Iterable[Event], tags: Mapping[str, str] = _NONE) -> None:
        """Add artifacts, tags, and points beyond the last step of their metric."""
        run, last = self.attach(), dict(self._last)
        points: list[Point] = []
        files: list[File] = []
        for event in events:
            if "path" in event:
                files.append(event)
            elif event["step"] > last.get(event["key"], event["step"] - 1):
                last[event["key"]] = event["step"]
                points.append(event)
        self._log(run, points, tags)
        self._upload(run, files)
        self._last = last

    def finish(self, events: Iterable[Event], end: End) -> None:
        """Send the last events and tags, and the final status."""
        self.send(events, {**self._start.tags, STATUS: end.status.lower(), **end.tags})
        self._client.set_terminated(self.attach().info.run_id, end.status, end.time)

    def _found(self) -> "Run | None":
        sweep, key = self._start.tags[SWEEP], self._start.key
        runs = runs_by_key(self._client, self._experiment_id, sweep, key)
        return runs[key][0] if runs else None

    def _created(self) -> "Run":
        start = self._start
        run = self._client.create_run(self._experiment_id, start.time, start.tags, start.name)
        self._is_new = True
        return run

    def _log(self, run: "Run", points: Iterable[Point], tags: Mapping[str, str]) -> None:
        from mlflow.entities import Metric, Param, RunTag

        # A point sent twice is one row, since key, value, time and step identify it.
        self._client.log_batch(
            run.info.run_id,
            [Metric(p["key"], p["value"], p["time"], p["step"]) for p in points],
            [Param(name, value) for name, value in self._params.items()],
            [RunTag(name, value) for name, value in tags.items()],
            synchronous=True,
        )
        self._params = {}

    def _upload(self, run: "Run", files: list[File]) -> None:
        if not files:
            return
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                path = Path(folder, file["path"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(base64.b64decode(file["content"]))
            self._client.log_artifacts(run.info.run_id, folder)


def runs_by_key(
    client: "MlflowClient", experiment_id: str, sweep: str, key: str | None = None
) -> dict[str, list["Run"]]:
    """The runs of a sweep, or of one key in it.

    A key has one run. A second, empty one is there only if the store created it, but the answer
    was lost and came true later; the run that counts stands first.
    """
    query = f"tags.`{SWEEP}` = '{sweep}'" + (f" and tags.`{KEY}` = '{key}'" if key else "")
    page = client.search_runs([experiment_id], query)
    runs = list(page)
    while page.token:
        page = client.search_runs([experiment_id], query, page_token=page.token)
        runs += page
    runs.sort(key=lambda run: (-len(run.data.metrics), run.info.start_time, run.info.run_id))
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.data.tags[KEY], []).append(run)
    return found
