"""Everything that could stop a sweep, looked at before anything starts."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sweeper import tracking
from sweeper.config.sweep import Sweep, difference
from sweeper.driver import binding, cluster, nodes
from sweeper.driver.cluster import Share
from sweeper.driver.messengers import notify_faults
from sweeper.errors import SweepError
from sweeper.execution import storage
from sweeper.ledger import JOURNAL, Ledger, key_of_rerun
from sweeper.results.records import FINAL_STATES
from sweeper.results.selection import best, reruns
from sweeper.results.texts import percent

LOCK = "driver.lock"


@dataclass(frozen=True)
class Options:
    """What is asked for besides the sweeps.

    Args:
        folder: for all files; several sweeps have one each below it.
        command: as typed, for hints.
        resume: go on with what was begun.
        plan_only: show the plan and stop.
        select_only: no search, only the reruns.
        address: of a Ray cluster; None for this machine alone.
        is_folder: the sweeps come from a folder, not from a file.
        is_table: they are the cells of the paper's table.
        tracking_uri: of MLflow from now on, whatever it was before.
    """

    folder: Path
    command: str = ""
    resume: bool = False
    plan_only: bool = False
    select_only: bool = False
    address: str | None = None
    is_folder: bool = False
    is_table: bool = False
    tracking_uri: str | None = None


@dataclass(frozen=True)
class OpenedSweep:
    """A sweep and its ledger, which is opened once and handed on.

    Args:
        launch_folder: for the files of all sweeps of a launch; by default this one's alone.
    """

    sweep: Sweep
    ledger: Ledger
    launch_folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of this sweep's files."""
        return self.ledger.folder

    @property
    def outbox(self) -> Path:
        """The folder where records wait while MLflow is away."""
        return self.folder / "outbox"

    @property
    def storage(self) -> str:
        """The folder or URI for what trials save; by default in the output folder."""
        return storage.storage_of(self.sweep.settings.storage, self.folder)

    @property
    def first_tasks(self) -> str | None:
        """The folder or URI of the first tasks that are shared; None if they are not."""
        settings = self.sweep.settings
        if not settings.share_tasks:
            return None
        root = settings.storage or str(self.launch_folder or self.folder)
        return storage.below(root, "first_tasks")

    @property
    def is_finished(self) -> bool:
        """Whether search and reruns of just this sweep are done, and MLflow knows it."""
        ledger, sweep = self.ledger, self.sweep
        if not ledger.has_begun or not ledger.places or any(self.outbox.glob("*")):
            return False
        if tracking.is_lost(ledger.tracking_uri or ""):
            return False
        if ledger.search(sweep).n_left:
            return False
        done = {record.key for record in ledger.rerun_records() if record.state in FINAL_STATES}
        chosen = best(ledger.trial_records(), sweep)
        return {key_of_rerun(rerun) for rerun in reruns(chosen, sweep)} <= done


@dataclass(frozen=True)
class PreparedSweep:
    """A sweep that can start.

    Args:
        uri: of MLflow.
        configurations: runs that stand for all.
        share: what each trial is given.
        missing: data that are not there, in words; only a plan can do without.
    """

    opened: OpenedSweep
    uri: str
    configurations: Sequence[Any]
    share: Share
    missing: tuple[str, ...] = ()

    @property
    def sweep(self) -> Sweep:
        """What is asked for."""
        return self.opened.sweep


@contextmanager
def only_driver(folder: Path) -> Iterator[None]:
    """Nobody else works in this folder meanwhile; where nothing begins, nothing is left."""
    missing: list[Path] = []
    lock = FileLock(folder / LOCK)
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        raise SweepError(
            f"{folder}: only one process may run a sweep, but another one does; see how it goes "
            "with --status, or give this one another --output."
        ) from None
    except OSError as error:
        raise SweepError(
            f"--output: {folder}: must be a folder to write to, but: {error.strerror}."
        ) from error
    try:
        yield
    finally:
        lock.release()
        if missing and folder.exists() and {path.name for path in folder.iterdir()} <= {LOCK}:
            (folder / LOCK).unlink(missing_ok=True)
            for path in missing:
                path.rmdir()


def opened_sweeps(sweeps: Sequence[Sweep], options: Options) -> list[OpenedSweep]:
    """Each sweep with its ledger, which is read here and nowhere else."""
    folder = options.folder.resolve()
    places = [folder / sweep.name if options.is_folder else folder for sweep in sweeps]
    pairs = zip(sweeps, places, strict=True)
    return [OpenedSweep(sweep, Ledger(place), folder) for sweep, place in pairs]


def set_damage_aside(every: Sequence[OpenedSweep], options: Options) -> list[str]:
    """Go on with what is left of ledgers and of our own database; gives lines that say so."""
    if options.plan_only:
        return []
    tracking.set_aside_damaged(_own_uri(options))  # the ledgers know what was in it
    return [text for opened in every if (text := opened.ledger.mend())]


def set_damaged_states_aside(prepared: Sequence[PreparedSweep]) -> list[str]:
    """Go on with what is left of saved trials, whose storage is known to answer by now."""
    begun = [part.opened for part in prepared if part.opened.ledger.has_begun]
    return [line for opened in begun for line in storage.set_aside_damaged(opened.storage)]


def check_begun(every: Sequence[OpenedSweep], options: Options) -> None:
    """What was begun is gone on with only when asked for, and only if it is the same.

    Raises:
        SweepError: what is there does not go with what is asked for.
    """
    begun = [opened for opened in every if opened.ledger.has_begun]
    wants_old = options.resume or options.select_only
    if wants_old and not begun:
        raise SweepError(f"{options.folder}: there must be a sweep to go on with, but is none.")
    faults = [text for opened in begun if (text := _changed(opened))]
    if not faults and not wants_old and not options.plan_only:
        faults = [_in_the_way(begun, every, options)]
    if any(faults):
        raise SweepError("\n".join(filter(None, faults)))


def _changed(opened: OpenedSweep) -> str:
    if changed := difference(opened.ledger.sweep, opened.sweep):
        return (
            f"{opened.folder}: a sweep must stay as it was started (more trials or hours are "
            f"welcome), but has changed:\n{changed}\n"
            "Undo the change, or start another sweep with another --output."
        )
    return ""


def _in_the_way(
    begun: Sequence[OpenedSweep], every: Sequence[OpenedSweep], options: Options
) -> str:
    """Why a new start is not possible; a finished sweep is shown, not started again."""
    if options.is_folder:
        is_free = not begun or all(opened.is_finished for opened in every)
        what = f"{len(begun)} of {len(every)} sweeps are there"
    else:
        n_left = sum(opened.ledger.search(opened.sweep).n_left for opened in begun)
        is_free = n_left == 0
        what = f"one with {n_left} of {every[0].sweep.n_trials} trials to go is there"
    if is_free:
        return ""
    return (
        f"{options.folder}: a new start must have a folder of its own, but {what}; go on with "
        "--resume, or choose another --output."
    )


def prepare(opened: OpenedSweep, options: Options) -> PreparedSweep:
    """Bind the sweep, look for data, resources, storage and MLflow.

    Raises:
        SweepError: with all that was found.
    """
    uri = _tracking_uri(opened, options)
    faults = list(opened.sweep.faults)
    is_whole = not faults  # else neither data nor a cluster are asked for
    missing: tuple[str, ...] = ()
    configurations, read, share = [], [], Share(1, 0, 1)
    try:
        configurations = binding.check(opened.sweep)
        has_reruns = opened.sweep.select.top > 0  # which read the test sets
        read = binding.as_reruns(configurations) if has_reruns else configurations
        missing = tuple(binding.data_faults(read)) if is_whole else ()
        if is_whole and not missing and options.address is None:
            faults += binding.network_faults(configurations, f"{opened.sweep.name}: run")
    except SweepError as error:
        faults.append(str(error))
    try:
        if is_whole or options.address is None:
            share = _share_of(opened.sweep, options.address, [] if missing else configurations)
    except SweepError as error:
        faults.append(str(error))
    faults += _faults_of_places(opened, uri)
    if not options.plan_only:
        faults += missing
        faults += notify_faults(opened.sweep.settings.notify)
    if options.address is not None and not (faults or missing):
        places = {"sweep.storage": opened.storage, "--output": str(opened.folder)}
        faults += nodes.faults(nodes.Needs(places, uri, read))
    if faults:
        raise SweepError("\n".join(faults))
    return PreparedSweep(opened, uri, configurations, share, missing)


def _faults_of_places(opened: OpenedSweep, uri: str) -> Iterator[str]:
    for folder in opened.sweep.settings.warm_start:
        if not (Path(folder) / JOURNAL).exists():
            yield f"sweep.warm_start: {folder}: must be the folder of a sweep."
    if opened.sweep.settings.storage and (wrong := storage.storage_fault(opened.storage)):
        yield f"sweep.storage: {wrong}"
    if wrong := tracking.tracking_fault(uri):
        yield f"sweep.tracking_uri: {wrong}"


def _share_of(sweep: Sweep, address: str | None, configurations: Sequence[Any]) -> Share:
    """What a trial gets here; a cluster has to be joined to know what it has."""
    asked, most = sweep.settings.resources, sweep.settings.concurrency
    need = binding.gpu_need(configurations[0]) if configurations and asked.gpu == "auto" else None
    n_per_gpu = cluster.trials_per_gpu(*need) if need else 1
    if address is None:
        here = [(float(binding.n_cpus()), float(binding.n_gpus()))]
        share = cluster.share(asked, most, here, n_per_gpu)
    else:
        cluster.connect(address)
        share = cluster.share(asked, most, cluster.nodes(), n_per_gpu)
        share = replace(share, can_grow=most is None)
    if need is None:
        return share
    text = f"{percent(need.memory)} of its memory and {percent(need.busy)} of its time"
    return replace(share, reason=f"a trial alone takes {text}")


def _tracking_uri(opened: OpenedSweep, options: Options) -> str:
    """The MLflow store asked for now, or of what has begun, or of a new sweep, or a new file."""
    asked = opened.sweep.settings.tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
    return options.tracking_uri or opened.ledger.tracking_uri or asked or _own_uri(options)


def _own_uri(options: Options) -> str:
    return f"sqlite:///{options.folder.resolve() / 'mlflow.db'}"
