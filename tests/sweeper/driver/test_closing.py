"""The end of a sweep: its report, its record in MLflow, where everything is."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Run

from sweeper.driver.active import ActiveSweep
from sweeper.driver.closing import Closed, close, interrupt
from sweeper.driver.cluster import Share
from sweeper.driver.preparation import OpenedSweep, PreparedSweep
from sweeper.ledger import Ledger
from sweeper.tracking import Tracking
from tests.sweeper.driver.queues import Queue, swept
from tests.sweeper.records import RUN
from tests.sweeper.stores import artifact, the_run
from tests.sweeper.studies import PlainSweep


class TrackedSweep(PlainSweep):
    """A sweep whose trials are no runs of `mpnet`, with MLflow."""

    _opened_tracking = ActiveSweep._opened_tracking  # type: ignore[assignment]

    def _resolved(self, asked: Any) -> dict[str, Any]:
        return {**RUN, "seed": 0}


def active_sweep(folder: Path, uri: str, **select: Any) -> TrackedSweep:
    sweep = swept("a", 2, select)
    prepared = PreparedSweep(OpenedSweep(sweep, Ledger(folder)), uri, [], Share(1, 0, 4))
    return TrackedSweep(0, prepared, 4, command="sweeper launch a.yaml")


def parent_of(active: ActiveSweep) -> Run:
    return the_run(tracking_of(active), "parent")


def tracking_of(active: ActiveSweep) -> Tracking:
    assert active.tracking is not None
    return active.tracking


@pytest.fixture(scope="module")
def active(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> TrackedSweep:
    """A sweep that is over: trials of 0.4 and 0.9, the best rerun with 0.5 and 0.75."""
    folder = tmp_path_factory.mktemp("sweep")
    active = active_sweep(folder, f"sqlite:///{shutil.copy(empty_store, folder)}")
    queue = Queue(active)
    for scores in ((0.4, 0.9), (0.5, 0.75)):
        for acc, assignment in zip(scores, queue.all_now(), strict=True):
            queue.finish(assignment, acc)
    assert queue.next() is None and active.is_over
    return active


@pytest.fixture(scope="module")
def closed(active: TrackedSweep) -> Closed:
    return close(active)


def test_the_report_is_written_and_is_in_mlflow_too(active: TrackedSweep, closed: Closed) -> None:
    names = ("report.html", "report.md", "trials.csv")
    folder = active.prepared.opened.folder
    written = [(folder / name).read_text() for name in names]
    assert "sweeper launch a.yaml" in written[0]
    assert [artifact(tracking_of(active), parent_of(active), name) for name in names] == written


def test_the_record_in_mlflow_has_an_end_and_tells_the_best(
    active: TrackedSweep, closed: Closed
) -> None:
    run = parent_of(active)
    assert (run.info.status, run.data.tags["sweeper.status"]) == ("FINISHED", "finished")
    expected = {"val/acc": 0.9, "test/acc_mean": 0.625, "test/seeds": 2.0}
    assert run.data.metrics.items() >= expected.items()
    assert run.data.metrics["test/acc_std"] == pytest.approx(0.125 * 2**0.5)


def test_unseen_class_orders_have_metrics_of_their_own(
    tmp_path: Path, uri: str, no_waiting_for_the_disk: None
) -> None:
    active = active_sweep(tmp_path, uri, seeds=1, class_orders=2)
    queue = Queue(active)
    for scores in ((0.4, 0.9), (0.5, 0.25, 0.75)):
        for acc, assignment in zip(scores, queue.all_now(), strict=True):
            queue.finish(assignment, acc)
    assert queue.next() is None
    close(active)
    metrics = parent_of(active).data.metrics
    expected = {
        "test/acc_mean": 0.5,
        "test/seeds": 1.0,
        "test_orders/acc_mean": 0.5,
        "test_orders/acc_std": 0.5 / 2**0.5,
        "test_orders/orders": 2.0,
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    assert "test/acc_std" not in metrics


def test_where_everything_is_is_noted_in_the_ledger(active: TrackedSweep, closed: Closed) -> None:
    assert Ledger(active.prepared.opened.folder).places == closed.places
    assert [place.split(":")[0] for place in closed.places] == [
        "report",
        "MLflow",
        "trials",
        "charts",
        "Optuna",
    ]


def test_a_sweep_that_is_closed_is_finished(active: TrackedSweep, closed: Closed) -> None:
    opened = OpenedSweep(active.sweep, Ledger(active.prepared.opened.folder))
    assert opened.is_finished


def test_an_interrupted_sweep_is_shown_as_one_that_nobody_works_on(
    tmp_path: Path, uri: str, no_waiting_for_the_disk: None
) -> None:
    active = active_sweep(tmp_path, uri)
    assert active.next() is not None
    interrupt(active)
    run = parent_of(active)
    assert (run.info.status, run.data.tags["sweeper.status"]) == ("KILLED", "stopped")
    assert active.ledger.places == []


def test_a_sweep_that_has_not_begun_is_not_interrupted(tmp_path: Path) -> None:
    interrupt(active_sweep(tmp_path, "http://127.0.0.1:9"))
    assert not list(tmp_path.rglob("outbox/*"))
