"""The first seconds of a sweep: check, plan and start Ray; Tune is not imported before that."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from sweeper import cluster, tracking
from sweeper.facts import facts_of
from sweeper.importing import importing
from sweeper.ledger import has_begun, open_ledger, search_of
from sweeper.preflight import (
    Options,
    Ready,
    check_folder,
    only_driver,
    outbox_of,
    plan_of,
    ready,
)
from sweeper.result_tables import show_outcome
from sweeper.selector import best, reruns
from sweeper.study import OVER, key_of
from sweeper.sweep import Sweep
from sweeper.view import plan_table, print_lines

if TYPE_CHECKING:
    from sweeper.service import Service

_SECONDS_TO_MEASURE = 0.3  # while Ray starts, of which it takes some


def launch(sweep: Sweep, options: Options, console: Console) -> int:
    """Check, plan, search, select, report; gives the exit code.

    Raises:
        SweepError: before anything has started.
    """
    with only_driver(options.folder):
        check_folder(sweep, options)
        if not options.plan_only and is_finished(sweep, options.folder):
            return _show_finished(options.folder, console)
        prepared = ready(sweep, options)
        if options.plan_only:
            console.print(plan_table(plan_of(prepared)))
            return 0
        service = _planned_while_ray_starts(prepared, console)
        return service(prepared, console).run()


def _planned_while_ray_starts(prepared: Ready, console: Console) -> "type[Service]":
    """Side by side: Ray's processes, a few steps of training, the imports of Tune and MLflow."""
    with importing(), ThreadPoolExecutor(2) as pool:
        service = pool.submit(_imported, prepared.uri)
        plan = pool.submit(plan_of, prepared, _SECONDS_TO_MEASURE)
        cluster.connect(prepared.options.address)
        console.print(plan_table(plan.result()))
        return service.result()


def _imported(uri: str) -> "type[Service]":
    from sweeper.service import Service

    tracking.connect(uri)
    return Service


def is_finished(sweep: Sweep, folder: Path) -> bool:
    """Whether search and reruns of just this sweep are done, and MLflow knows it."""
    if not has_begun(folder):
        return False
    ledger = open_ledger(folder)
    if ledger.n_left(search_of(sweep)) or not ledger.places or any(outbox_of(folder).glob("*")):
        return False
    chosen = best(ledger.records(), sweep)
    done = {record.key for record in ledger.test_records() if record.state in OVER}
    return {key_of(point) for point in reruns(chosen, sweep)} <= done


def _show_finished(folder: Path, console: Console) -> int:
    """Say so, and change nothing."""
    console.print("This sweep is finished; nothing was changed.", style="green")
    show_status(folder, console)
    print_lines(console, open_ledger(folder).places)
    return 0


def show_status(folder: Path, console: Console) -> int:
    """What the ledger says, while a sweep runs or after it."""
    ledger = open_ledger(folder)
    trials, tests = ledger.records(), ledger.test_records()
    show_outcome(console, facts_of(ledger.sweep, trials, tests), tests)
    return 0
