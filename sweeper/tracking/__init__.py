"""MLflow, written from inside the trials: a store that is away stops nothing and loses nothing."""

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from sweeper.tracking.delivery import (
    Delivery,
    close_runs,
    own_tags,
    runs_by_key,
    trial_runs,
    upload,
)
from sweeper.tracking.outbox import (
    End,
    Outbox,
    Record,
    Start,
    artifact_files,
    flat,
    metric_points,
    now,
)
from sweeper.tracking.outbox import Event as Event
from sweeper.tracking.store import connect as connect
from sweeper.tracking.store import (
    described,
    experiment_id,
    is_refusal,
    plain_errors,
    without_password,
)
from sweeper.tracking.store import is_lost as is_lost
from sweeper.tracking.store import set_aside_damaged as set_aside_damaged
from sweeper.tracking.store import tracking_fault as tracking_fault
from sweeper.tracking.target import Tracking as Tracking
from sweeper.tracking.views import ACC as ACC
from sweeper.tracking.views import Page as Page
from sweeper.tracking.views import run_links as run_links
from sweeper.tracking.views import set_page as set_page
from sweeper.tracking.views import set_ranks as set_ranks
from sweeper.tracking.views import ui_base as ui_base
from sweeper.tracking.views import ui_command as ui_command
from sweeper.tracking.views import ui_links as ui_links

_log = logging.getLogger(__name__)

_FIRST_SECONDS = 2.0  # before MLflow is imported beside the first steps of a trial
_FLUSH_SECONDS = 10.0
_LONGEST_PAUSE = 20.0  # seconds between attempts while the store is away
_CLOSING_PAUSE = 1.0  # the same, while somebody waits
_BATCH = 1000
_NONE: Mapping[str, str] = {}


class RunLog:
    """The run of one trial: calls return at once, a thread delivers, no failure reaches the trial.

    The steps of a metric must grow: a point at or before the last one's is taken for a repetition
    after a resume, and dropped.

    Args:
        key: names the trial within the sweep; the run of this key is continued.
        params: may be nested; a parameter that the run already has keeps its value.
        tags: besides our own; `sweeper.role` may be given here, if it is not `trial`.
        pending: what `pending()` gave when the trial was saved.
    """

    def __init__(
        self,
        tracking: Tracking,
        key: str,
        name: str,
        params: Mapping[str, object],
        tags: Mapping[str, str],
        pending: Sequence[Event] = (),
    ) -> None:
        own = own_tags("trial", tracking.sweep_id, key)
        own["mlflow.parentRunId"] = tracking.parent_run_id
        self._start = Start(key, name, flat(params), {**own, **flat(tags)}, now())
        self._delivery = Delivery(tracking.uri, tracking.experiment_id, self._start)
        self._where = without_password(tracking.uri)
        self._outbox = Outbox(tracking.outbox)
        self._taken_over = self._outbox.records(key)
        self._events = [*pending, *(e for r in self._taken_over.values() for e in r.events)]
        self._lock = threading.Lock()
        self._end: End | None = None
        self._closing, self._abandoned = threading.Event(), threading.Event()
        self._is_open = self._is_delivered = False
        self._warnings: set[bool] = set()
        self._thread = threading.Thread(target=self._work, name=f"mlflow {key}", daemon=True)
        self._thread.start()

    def metrics(self, values: Mapping[str, float | None], step: int) -> None:
        """Log values, measured now; None is left out."""
        self._add(metric_points(values, step, now()))

    def artifact(self, path: str, content: str | bytes) -> None:
        """Log a file below the run; a later one with the same path replaces it."""
        self._add(artifact_files({path: content}))

    def pending(self) -> list[Event]:
        """What MLflow has not got yet, fit for JSON, to be saved with the trial."""
        with self._lock:
            return list(self._events)

    def close(self, status: str, tags: Mapping[str, str] = _NONE, patience: float = 10.0) -> None:
        """End the run; what is not delivered in time goes to the outbox.

        Args:
            status: FINISHED, FAILED or KILLED.
            patience: seconds to wait for MLflow.
        """
        if self._end is not None:
            return
        self._end = End(status, flat(tags), now())
        self._closing.set()
        self._thread.join(patience)
        self._abandoned.set()
        if not self._is_delivered:
            if keep_record(self._outbox, Record(self._start, self.pending(), self._end)):
                self._forget_taken_over()

    def _add(self, events: Sequence[Event]) -> None:
        with self._lock:
            self._events += events

    def _work(self) -> None:
        failures = 0
        while not self._is_delivered and not self._abandoned.is_set():
            is_last = self._closing.is_set()
            try:
                self._deliver()
                failures = 0
            except Exception as error:  # of MLflow, SQL, HTTP, clouds: none may stop a trial
                failures += 1
                self._warn(error)
                if is_last and is_refusal(error):
                    return
            self._pause(failures)

    def _deliver(self) -> None:
        if not self._is_open:
            self._closing.wait(_FIRST_SECONDS)
            self._delivery.connect()
        end = self._end  # before the events are looked at: none comes after it
        if end is None and not self._is_open:
            self._delivery.open()
            self._is_open = True
        most = _BATCH if end else 0  # the last ones go with the end
        while len(events := self.pending()) > most and not self._abandoned.is_set():
            self._delivery.send(events[:_BATCH])
            self._drop(events[:_BATCH])
        if end and not self._abandoned.is_set():
            self._delivery.finish(events, end)
            self._drop(events)
            self._forget_taken_over()
            self._is_delivered = True

    def _drop(self, delivered: list[Event]) -> None:
        with self._lock:
            del self._events[: len(delivered)]

    def _pause(self, failures: int) -> None:
        if not self._closing.is_set():
            self._closing.wait(min(_FLUSH_SECONDS * 2 ** max(failures - 1, 0), _LONGEST_PAUSE))
        elif failures:
            self._abandoned.wait(_CLOSING_PAUSE)

    def _warn(self, error: Exception) -> None:
        if is_refusal(error) not in self._warnings:
            self._warnings.add(is_refusal(error))
            text = "%s: MLflow must take the records of %s, but got %s; they are kept, sent again."
            _log.warning(text, self._where, self._start.key, described(error))

    def _forget_taken_over(self) -> None:
        for path in self._taken_over:
            path.unlink(missing_ok=True)


def keep_record(outbox: Outbox, record: Record) -> bool:
    """Put a record into the outbox; where there is no room, MLflow learns it by `--resume`."""
    try:
        outbox.add(record)
    except OSError as error:
        text = "%s: the outbox must be writable, but got %s; --resume tells MLflow of %s."
        _log.error(text, outbox.folder, described(error), record.start.key)
        return False
    return True


def open_sweep(
    uri: str,
    experiment: str,
    sweep_id: str,
    name: str,
    outbox: Path,
    tags: Mapping[str, str],
    params: Mapping[str, object],
    artifacts: Mapping[str, str | bytes],
) -> Tracking:
    """Create or find the store, the experiment and the sweep's parent run, before any trial.

    A parameter keeps the value it had when the sweep was first opened.

    Raises:
        ConnectionError: MLflow is away or refuses.
    """
    own = {**own_tags("parent", sweep_id, sweep_id), **flat(tags)}
    start = Start(sweep_id, name, flat(params), own, now())
    with plain_errors(uri):
        found = experiment_id(uri, experiment)
        delivery = Delivery(uri, found, start)
        delivery.open()
        delivery.send(artifact_files(artifacts))
        parent = delivery.attach().info.run_id
    return Tracking(uri, found, parent, sweep_id, str(outbox.absolute()))


def close_sweep(
    tracking: Tracking,
    status: str,
    metrics: Mapping[str, float],
    tags: Mapping[str, str],
    artifacts: Mapping[str, str | bytes],
) -> None:
    """End the parent run by way of the outbox, where it waits if MLflow is away."""
    at, key = now(), tracking.sweep_id
    start = Start(key, key, {}, own_tags("parent", key, key), at)
    # Seconds as the step: a sweep that was resumed is closed again, with newer results.
    events = [*metric_points(metrics, at // 1000, at), *artifact_files(artifacts)]
    keep_record(Outbox(tracking.outbox), Record(start, events, End(status, flat(tags), at)))
    deliver_outbox(tracking)


def deliver_outbox(tracking: Tracking) -> int:
    """Send what waits in the outbox; how many records still wait afterwards."""
    outbox = Outbox(tracking.outbox)
    for path, record in outbox.records().items():
        try:
            Delivery(tracking.uri, tracking.experiment_id, record.start).catch_up(record)
            path.unlink(missing_ok=True)
        except Exception as error:  # of MLflow, SQL, HTTP, clouds
            text = "%s: MLflow must take this record, but got %s; it is kept."
            _log.warning(text, path, described(error))
            if not is_refusal(error):
                break  # the next one would wait in vain as well
    return len(outbox.records())


def close_left_over(tracking: Tracking, status_of: Mapping[str, str]) -> None:
    """Close the runs of trials that nobody runs any more, though MLflow says they are running.

    Args:
        status_of: final status by key; a key neither here nor in the outbox was KILLED.

    Raises:
        ConnectionError: MLflow is away or refuses.
    """
    waiting = {r.start.key: r.end.status for r in Outbox(tracking.outbox).records().values()}
    known = {**waiting, **status_of}
    with plain_errors(tracking.uri):
        client = connect(tracking.uri)
        for key, runs in trial_runs(client, tracking.experiment_id, tracking.sweep_id).items():
            close_runs(client, runs, known.get(key, "KILLED"))


def add_files(
    uri: str, experiment: str, sweep_id: str, key: str, contents: Mapping[str, str | bytes]
) -> None:
    """Add artifacts to a run that is over; a sweep's parent run has the sweep's id as its key.

    Raises:
        ConnectionError: MLflow is away or refuses.
        LookupError: it has no such run.
    """
    with plain_errors(uri):
        client, found = connect(uri), experiment_id(uri, experiment)
        runs = runs_by_key(client, found, sweep_id)
    if key not in runs:
        raise LookupError(f"{without_password(uri)}: a run {key} must be there, but is not.")
    with plain_errors(uri):
        upload(client, runs[key][0], artifact_files(contents))


def run_ids(tracking: Tracking) -> dict[str, str]:
    """The id of every trial's run, by key.

    Raises:
        ConnectionError: MLflow is away or refuses.
    """
    with plain_errors(tracking.uri):
        client = connect(tracking.uri)
        found = trial_runs(client, tracking.experiment_id, tracking.sweep_id)
    return {key: runs[0].info.run_id for key, runs in found.items()}
