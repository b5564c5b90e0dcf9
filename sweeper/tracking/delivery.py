"""The way of a run into MLflow: each run and each point once, however often they are sent."""

import base64
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sweeper.scratch import scratch_folder
from sweeper.tracking.outbox import End, Event, File, Point, Record, Start
from sweeper.tracking.store import connect

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

SWEEP, KEY, ROLE, STATUS = "sweeper.sweep", "sweeper.key", "sweeper.role", "sweeper.status"
_NONE: Mapping[str, str] = {}


def own_tags(role: str, sweep: str, key: str) -> dict[str, str]:
    """What every run of ours is found by; a sweep's parent run has the sweep's id as its key."""
    return {ROLE: role, SWEEP: sweep, KEY: key, STATUS: "running"}


class Delivery:
    """One run's link to MLflow; every method raises if the store is away or refuses."""

    def __init__(self, uri: str, experiment_id: str, start: Start) -> None:
        self._uri, self._experiment_id, self._start = uri, experiment_id, start
        self._run: Run | None = None
        self._is_new = False
        self._params: dict[str, str] = {}
        self._last: dict[str, int] = {}

    def connect(self) -> None:
        """Load MLflow and reach for the store."""
        self._client = connect(self._uri)

    def attach(self) -> "Run":
        """Find the run by its tags or create it; the attempt after a lost answer finds it."""
        if self._run is None:
            self.connect()
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
        if files:
            upload(self._client, run, files)
        self._last = last

    def finish(self, events: Iterable[Event], end: End) -> None:
        """Send the last events and tags, and the final status."""
        self.send(events, {**self._start.tags, STATUS: end.status.lower(), **end.tags})
        self._client.set_terminated(self.attach().info.run_id, end.status, end.time)

    def catch_up(self, record: Record) -> None:
        """Send all of a record; the status only if nobody has closed the run since."""
        info = self.attach().info
        if info.status != "RUNNING" and (info.end_time or 0) > record.end.time:
            self.send(record.events)
        else:
            self.finish(record.events, record.end)

    def _found(self) -> "Run | None":
        sweep, key = self._start.tags[SWEEP], self._start.key
        only = f" and tags.`{KEY}` = '{key}'"
        runs = runs_by_key(self._client, self._experiment_id, sweep, only)
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


def upload(client: "MlflowClient", run: "Run", files: Iterable[File]) -> None:
    """Add artifacts."""
    with scratch_folder() as folder:
        for file in files:
            path = folder / file["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(file["content"]))
        client.log_artifacts(run.info.run_id, str(folder))


def trial_runs(client: "MlflowClient", experiment_id: str, sweep: str) -> "dict[str, list[Run]]":
    """The runs of a sweep's trials by key, the one that counts first.

    A second, empty one is there if the store created it, but so late that we had asked again.
    """
    runs = runs_by_key(client, experiment_id, sweep)
    return {key: found for key, found in runs.items() if key != sweep}


def close_runs(client: "MlflowClient", runs: "list[Run]", status: str) -> None:
    """Close those runs of one key that are running, and remove empty ones but the first."""
    for run in runs:
        if run is not runs[0] and not run.data.metrics:
            client.delete_run(run.info.run_id)
        elif run.info.status == "RUNNING":
            client.set_tag(run.info.run_id, STATUS, status.lower())
            client.set_terminated(run.info.run_id, status)


def runs_by_key(
    client: "MlflowClient", experiment_id: str, sweep: str, only: str = ""
) -> "dict[str, list[Run]]":
    """The runs of a sweep and of its parent by key, the one that counts first."""
    query = f"tags.`{SWEEP}` = '{sweep}'{only}"
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
