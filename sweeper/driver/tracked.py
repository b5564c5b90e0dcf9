"""What MLflow knows of a sweep as a whole: opened, brought in line with the ledger, ranked."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sweeper import tracking
from sweeper.config.sweep import Sweep
from sweeper.driver import binding
from sweeper.driver.preparation import PreparedSweep
from sweeper.errors import SweepError
from sweeper.execution.assignment import Surroundings
from sweeper.ledger import Ledger
from sweeper.results.records import TrialRecord
from sweeper.results.texts import counted
from sweeper.tracking import Tracking

_STATUS = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}

Say = Callable[[str], None]


def opened(prepared: PreparedSweep) -> Tracking:
    """The record of a sweep, new or as it was left.

    Raises:
        SweepError: MLflow is away, so that nothing should start.
    """
    sweep, ledger = prepared.sweep, prepared.opened.ledger
    try:
        found = tracking.open_sweep(
            prepared.uri,
            sweep.name,
            ledger.sweep_id,
            f"sweep {sweep.name}",
            prepared.opened.outbox,
            {"sweeper.stage": "sweep"},
            {"sweep": sweep.blocks.get("sweep") or {}, "run": dict(sweep.run)},
            {"sweep.yaml": sweep.text},
        )
        tracking.set_page(found, _page(sweep))
        return found
    except ConnectionError as error:
        raise SweepError(f"sweep.tracking_uri: {error}") from error


def _page(sweep: Sweep) -> tracking.Page:
    """What MLflow shows of the trials: the columns of the terminal's table."""
    names = binding.full_paths(sweep.space)
    shared = [names[path] for path, one in sweep.space.items() if not one.when]
    return tracking.Page((tracking.ACC, "val/bwt", "val/mean_diagonal"), [*names.values()], shared)


def settle(found: Tracking, ledger: Ledger, say: Say) -> None:
    """Bring MLflow in line with the ledger; if it is away, the next start does."""
    tracking.deliver_outbox(found)
    try:
        tracking.close_left_over(found, _statuses(ledger))
    except ConnectionError as error:
        say(f"MLflow is away ({error}); its runs are put right by the next --resume.")


def write_missing_runs(around: Surroundings, ledger: Ledger, say: Say) -> None:
    """Give MLflow what it has lost, or what another store than before never had."""
    status_of = _statuses(ledger)
    if not status_of:
        return
    from sweeper.execution import rebuilding  # not at the first start

    records = [*ledger.trial_records(), *ledger.rerun_records()]
    try:
        n_missing = rebuilding.write_missing_runs(records, status_of, around)
    except ConnectionError as error:
        say(f"MLflow is away ({error}); the next --resume looks for missing runs.")
        return
    if n_missing:
        lacked = f"MLflow lacked {counted(n_missing, 'run')}"
        say(f"{ledger.sweep.name}: {lacked}, written again from the ledger.")


def rank(found: Tracking, sweep: Sweep, ranked: Sequence[TrialRecord], say: Say) -> None:
    """Tell MLflow the places of finished trials; if it is away, they are not shown there."""
    places = {trial.run_key: n for n, trial in enumerate(ranked, start=1)}
    try:
        tracking.set_ranks(found, places, int(time.time()))
        tracking.set_page(found, replace(_page(sweep), is_ranked=True))
    except ConnectionError as error:
        say(f"MLflow is away ({error}); its trials have no places yet.")


def _statuses(ledger: Ledger) -> dict[str, str]:
    """How MLflow calls the ends of trials, by the keys of their runs."""
    every = [*ledger.trial_records(), *ledger.rerun_records()]
    return {one.run_key: _STATUS[one.state] for one in every if one.state in _STATUS}
