"""What MLflow knows of a sweep as a whole, in a real store."""

from dataclasses import replace
from pathlib import Path

import pytest

from sweeper.driver import tracked
from sweeper.ledger import Ledger
from sweeper.tracking import Tracking
from sweeper.tracking.views import RANK
from tests.sweeper.ledgers import opened as searched
from tests.sweeper.ledgers import outcome, start, swept
from tests.sweeper.stores import kill, log_of, opened, runs, the_run, wait_until

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")
AWAY = "sqlite:////proc/no/such/place.db"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """One of its trials has finished."""
    stage = searched(tmp_path, swept())
    stage.finish(start(stage)[0], outcome(0.75))
    return Ledger(tmp_path)


@pytest.fixture
def found(ledger: Ledger, uri: str, tmp_path: Path) -> Tracking:
    """MLflow has a run of that trial, left running by a process that was killed."""
    found = opened(uri, tmp_path, ledger.sweep_id)
    [trial] = ledger.trial_records()
    log = log_of(found, trial.run_key)
    log.metrics({"loss": 1.0}, 0)
    wait_until(lambda: any(run.data.metrics for run in runs(found)))
    kill(log)
    return found


def test_runs_end_as_their_trials_did(found: Tracking, ledger: Ledger) -> None:
    assert the_run(found).info.status == "RUNNING"
    tracked.settle(found, ledger, pytest.fail)
    assert the_run(found).info.status == "FINISHED"


def test_ranked_trials_know_their_places(found: Tracking, ledger: Ledger) -> None:
    tracked.rank(found, ledger.sweep, ledger.trial_records(), pytest.fail)
    assert the_run(found).data.metrics[RANK] == 1


def test_a_store_that_is_away_is_said_and_stops_nothing(found: Tracking, ledger: Ledger) -> None:
    said: list[str] = []
    away = replace(found, uri=AWAY)
    tracked.settle(away, ledger, said.append)
    tracked.rank(away, ledger.sweep, ledger.trial_records(), said.append)
    put_right, no_places = said
    assert put_right.startswith("MLflow is away (")
    assert put_right.endswith("its runs are put right by the next --resume.")
    assert no_places.endswith("its trials have no places yet.")
