"""Everything that could stop a sweep, looked at before it starts, and what it will take."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sweeper import binding, cluster, nodes, storage, tracking
from sweeper.cluster import Share
from sweeper.errors import SweepError
from sweeper.ledger import Ledger, has_begun, open_ledger, search_of
from sweeper.ranking import finished
from sweeper.records import TrialRecord
from sweeper.study import OVER
from sweeper.sweep import Sweep, difference
from sweeper.view import Plan


@dataclass(frozen=True)
class Options:
    """What the command line asks for.

    Args:
        folder: of the sweep's files.
        command: as typed, for hints.
        resume: go on with a sweep that was begun.
        plan_only: show the plan and stop.
        select_only: no search, only the reruns.
        address: of a Ray cluster; None for this machine alone.
        records: folder of MLflow's database where that is not the sweep's own.
    """

    folder: Path
    command: str
    resume: bool = False
    plan_only: bool = False
    select_only: bool = False
    address: str | None = None
    records: Path | None = None


@dataclass(frozen=True)
class Ready:
    """A sweep that can start.

    Args:
        uri: of MLflow.
        storage: for what trials save.
        configurations: runs that stand for all.
        share: what each trial is given.
    """

    sweep: Sweep
    options: Options
    folder: Path
    uri: str
    storage: str
    configurations: Sequence[Any]
    share: Share


@contextmanager
def only_driver(folder: Path) -> Iterator[None]:
    """Nobody else works on this sweep meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "driver.lock")
    try:
        with lock.acquire(timeout=0):
            yield
    except Timeout:
        raise SweepError(
            f"{folder}: only one process may run a sweep, but another one does; see how it goes "
            "with --status, or give this one another --output."
        ) from None


def check_folder(sweep: Sweep, options: Options) -> None:
    """A sweep that was begun is gone on with only when asked for, and only if it is the same.

    Raises:
        SweepError: what is there does not go with what is asked for.
    """
    wants_old = options.resume or options.select_only
    if not has_begun(options.folder):
        if wants_old:
            raise SweepError(
                f"{options.folder}: there must be a sweep to go on with, but is none."
            )
        return
    ledger = open_ledger(options.folder)
    if changed := difference(ledger.sweep, sweep):
        raise SweepError(
            f"{options.folder}: a sweep must stay as it was started (more trials or hours are "
            f"welcome), but has changed:\n{changed}\n"
            "Undo the change, or start another sweep with another --output."
        )
    n_left = ledger.n_left(search_of(sweep))
    if n_left and not wants_old and not options.plan_only:
        raise SweepError(
            f"{options.folder}: a new sweep must have a folder of its own, but one with {n_left} "
            f"of {sweep.n_trials} trials to go is there; go on with --resume, or choose another "
            "--output."
        )


def ready(sweep: Sweep, options: Options) -> Ready:
    """Bind the sweep, look for data, resources, storage and MLflow.

    Raises:
        SweepError: with all that was found.
    """
    folder = options.folder.resolve()
    uri = _tracking_uri(sweep, folder, (options.records or folder).resolve())
    place = storage_of(sweep, folder)
    faults: list[str] = []
    configurations, share = [], Share(1, 0, 1)
    try:
        configurations = binding.check(sweep)
    except SweepError as error:
        faults.append(str(error))
    try:
        share = _share_of(sweep, options.address)
    except SweepError as error:
        faults.append(str(error))
    faults += _faults_of_places(sweep, place, uri)
    if options.address is not None and not faults:
        places = {"sweep.storage": place, "--output": str(folder)}
        faults += nodes.faults(nodes.Needs(places, uri, configurations))
    if faults:
        raise SweepError("\n".join(faults))
    return Ready(sweep, options, folder, uri, place, configurations, share)


def _faults_of_places(sweep: Sweep, place: str, uri: str) -> Iterator[str]:
    for folder in sweep.settings.warm_start:
        if not has_begun(Path(folder)):
            yield f"sweep.warm_start: {folder}: must be the folder of a sweep."
    if wrong := storage.fault(place):
        yield f"sweep.storage: {wrong}"
    if wrong := tracking.fault(uri):
        yield f"sweep.tracking_uri: {wrong}"


def _share_of(sweep: Sweep, address: str | None) -> Share:
    """What a trial gets here; a cluster has to be joined to know what it has."""
    asked, most = sweep.settings.resources, sweep.settings.concurrency
    if address is None:
        return cluster.share(asked, most, [(float(binding.n_cpus()), float(binding.n_gpus()))])
    cluster.connect(address)
    return replace(cluster.share(asked, most, cluster.nodes()), can_grow=most is None)


def plan_of(ready: Ready, spend: float = 1.0) -> Plan:
    """What will be done, and what it will take, found out in `spend` seconds or a little more."""
    sweep, share = ready.sweep, ready.share
    records = Ledger(ready.folder).records() if has_begun(ready.folder) else []
    n_over = sum(record.state in OVER for record in records)
    seconds, source = _cost(ready, finished(records), spend)
    where = ready.options.address or "this machine"
    return Plan(
        name=sweep.name,
        trials=sweep.n_trials,
        left=max(0, sweep.n_trials - n_over),
        reruns=sweep.n_reruns,
        each=sweep.select.each,
        repeats=sweep.settings.repeats,
        seconds=seconds,
        source=source,
        at_once=share.at_once,
        share=f"{share.cpu:g} CPUs and {share.gpu:g} GPUs, on {where}",
        sampler=sweep.settings.sampler,
        places={"files": str(ready.folder), "MLflow": ready.uri},
    )


def _cost(ready: Ready, done: Sequence[TrialRecord], spend: float) -> tuple[float, str]:
    if done:
        return sum(r.seconds for r in done) / len(done), f"mean of {len(done)} finished trials"
    seconds = binding.expected_cost(ready.configurations[0], ready.share.n_threads, spend)
    return seconds * ready.sweep.settings.repeats, "from a few steps on this machine"


def _tracking_uri(sweep: Sweep, folder: Path, records: Path) -> str:
    """Of MLflow: where a sweep that has begun has its runs; else as asked for, or a new file."""
    begun = Ledger(folder).tracking_uri if has_begun(folder) else None
    asked = sweep.settings.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
    return begun or asked or f"sqlite:///{records / 'mlflow.db'}"


def storage_of(sweep: Sweep, folder: Path) -> str:
    """For what trials save; by default in the output folder."""
    return _absolute(sweep.settings.storage) or str(folder / "trials")


def outbox_of(folder: Path) -> Path:
    """Where records wait while MLflow is away."""
    return folder / "outbox"


def _absolute(place: str | None) -> str | None:
    return place if place is None or "://" in place else os.path.abspath(place)
