"""A sweep from its file to its report: every step in order, each of them somebody else's work."""

import functools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console

from sweeper import storage, tracking, trial, tuner
from sweeper.environment import environment
from sweeper.errors import SweepError
from sweeper.facts import Facts, facts_of
from sweeper.ledger import JOURNAL, Ledger, has_begun, open_ledger, rerun_of, search_of
from sweeper.ranking import finished
from sweeper.records import TrialRecord
from sweeper.selector import reruns, select
from sweeper.space import Values
from sweeper.study import Search, key_of
from sweeper.sweep import Sweep, difference
from sweeper.tracking import Tracking
from sweeper.trial import Job
from sweeper.tuner import Share
from sweeper.view import Plan, View, plan_table, ranking_table, test_table

_STATUS = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}


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
    """

    folder: Path
    command: str
    resume: bool = False
    plan_only: bool = False
    select_only: bool = False
    address: str | None = None


def launch(sweep: Sweep, options: Options, console: Console) -> int:
    """Check, plan, search, select, report; gives the exit code.

    Raises:
        SweepError: before anything has started.
    """
    service = _Service(sweep, options, console)
    with _only_driver(options.folder):
        service.check_folder()
        if service.is_finished():
            return service.show_finished()
        service.prepare()
        console.print(plan_table(service.plan()))
        if options.plan_only:
            return 0
        return service.run()


def show_status(folder: Path, console: Console) -> int:
    """What the ledger says, while a sweep runs or after it."""
    ledger = open_ledger(folder)
    console.print(ranking_table(ledger.records(), ledger.sweep.objective))
    if tests := ledger.test_records():
        console.print(test_table(tests))
    return 0


@contextmanager
def _only_driver(folder: Path) -> Iterator[None]:
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


class _Service:
    """What the steps of a sweep hand to one another."""

    def __init__(self, sweep: Sweep, options: Options, console: Console) -> None:
        self.sweep, self.options, self.console = sweep, options, console
        self.folder = options.folder.resolve()
        self.uri = sweep.settings.tracking_uri or f"sqlite:///{self.folder / 'mlflow.db'}"
        self.storage = _absolute(sweep.settings.storage) or str(self.folder / "trials")
        self.about = {**environment(), "command": options.command}
        self.start = 0.0

    # Before anything starts

    def check_folder(self) -> None:
        """A sweep that was begun is gone on with only when asked for, and only if it is the same.

        Raises:
            SweepError: what is there does not go with what is asked for.
        """
        wants_old = self.options.resume or self.options.select_only
        if not has_begun(self.folder):
            if wants_old:
                raise SweepError(
                    f"{self.folder}: there must be a sweep to go on with, but is none."
                )
            return
        ledger = open_ledger(self.folder)
        if changed := difference(ledger.sweep, self.sweep):
            raise SweepError(
                f"{self.folder}: a sweep must stay as it was started (more trials or hours are "
                f"welcome), but has changed:\n{changed}\n"
                "Undo the change, or start another sweep with another --output."
            )
        records = ledger.records()
        n_left = ledger.n_left(search_of(self.sweep))
        if n_left and not wants_old and not self.options.plan_only:
            raise SweepError(
                f"{self.folder}: a new sweep must have a folder of its own, but one with {n_left} "
                f"of {len(finished(records)) + n_left} trials to go is there; go on with "
                "--resume, or choose another --output."
            )

    def is_finished(self) -> bool:
        """Whether search and reruns of just this sweep are done."""
        if self.options.plan_only or not has_begun(self.folder):
            return False
        ledger = open_ledger(self.folder)
        if ledger.n_left(search_of(self.sweep)) or not ledger.places:
            return False
        points = reruns(self._selected(ledger), self.sweep)
        done = {record.key for record in ledger.test_records() if record.state in _STATUS}
        return {key_of(point) for point in points} <= done

    def show_finished(self) -> int:
        """Say so, and change nothing."""
        self.console.print("This sweep is finished; nothing was changed.", style="green")
        show_status(self.folder, self.console)
        self._print(open_ledger(self.folder).places)
        return 0

    def prepare(self) -> None:
        """Look at everything that could stop the sweep later.

        Raises:
            SweepError: with all that was found.
        """
        faults = []
        try:
            self.configurations = trial.check(self.sweep)
        except SweepError as error:
            faults.append(str(error))
        self.share = Share(1, 0, 1)
        try:
            if self.options.address is None:
                self.share = self._shared([(trial.n_cpus(), trial.n_gpus())])
        except SweepError as error:
            faults.append(str(error))
        for folder in self.sweep.settings.warm_start:
            if not has_begun(Path(folder)):
                faults.append(f"sweep.warm_start: {folder}: must be the folder of a sweep.")
        if wrong := storage.fault(self.storage):
            faults.append(f"sweep.storage: {wrong}")
        if wrong := tracking.fault(self.uri):
            faults.append(f"sweep.tracking_uri: {wrong}")
        if faults:
            raise SweepError("\n".join(faults))

    def _shared(self, machine: list[tuple[float, float]]) -> Share:
        settings = self.sweep.settings
        return tuner.share(settings.resources, settings.concurrency, machine)

    def plan(self) -> Plan:
        """What will be done, and what it will take."""
        records = Ledger(self.folder).records() if has_begun(self.folder) else []
        n_over = sum(record.state in _STATUS for record in records)
        seconds, source = self._cost(finished(records))
        share = f"{self.share.cpu:g} CPUs and {self.share.gpu:g} GPUs"
        where = self.options.address or "this machine"
        return Plan(
            name=self.sweep.name,
            trials=self.sweep.n_trials,
            left=max(0, self.sweep.n_trials - n_over),
            reruns=self.sweep.select.top * self.sweep.select.seeds,
            repeats=self.sweep.settings.repeats,
            seconds=seconds,
            source=source,
            at_once=self.share.at_once,
            share=f"{share}, on {where}",
            sampler=self.sweep.settings.sampler,
            places={"files": str(self.folder), "MLflow": self.uri},
        )

    def _cost(self, done: Sequence[TrialRecord]) -> tuple[float, str]:
        if done:
            return sum(r.seconds for r in done) / len(done), f"mean of {len(done)} finished trials"
        seconds = trial.expected_cost(self.configurations[0], self.share.n_threads)
        return seconds * self.sweep.settings.repeats, "from a few steps on this machine"

    # The sweep itself

    def run(self) -> int:
        """Search, rerun the best, report."""
        self._connect()
        self.start = time.monotonic()
        ledger = Ledger(self.folder)
        ledger.begin(self.sweep)
        self.tracking = self._opened(ledger)
        self._settle(ledger)
        if not self.options.select_only and not self._search(ledger):
            return self._stopped(ledger)
        chosen = self._selected(ledger)
        if chosen and not self._rerun(ledger, chosen):
            return self._stopped(ledger)
        self._tell(ledger)
        return 0 if chosen or not self.sweep.select.top else 1

    def _selected(self, ledger: Ledger) -> list[TrialRecord]:
        """What is to be rerun; too few finished trials end a sweep without reruns."""
        try:
            return select(ledger.records(), self.sweep) if self.sweep.select.top else []
        except SweepError as error:
            if self.options.select_only:
                raise
            self.console.print(str(error), style="yellow", markup=False, soft_wrap=True)
            return []

    def _connect(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            # Ray's processes and MLflow's imports take seconds each; side by side they overlap.
            ready: Future[str | None] = pool.submit(tracking.fault, self.uri)
            tuner.connect(self.options.address)
            ready.result()
        if self.options.address is not None:
            self.share = self._shared(tuner.nodes())

    def _opened(self, ledger: Ledger) -> Tracking:
        try:
            return tracking.open_sweep(
                self.uri,
                self.sweep.name,
                ledger.sweep_id,
                f"sweep {self.sweep.name}",
                self.folder / "outbox",
                {"sweeper.stage": "sweep"},
                {"sweep": self.sweep.blocks.get("sweep") or {}, "run": dict(self.sweep.run)},
                {"sweep.yaml": self.sweep.text},
            )
        except ConnectionError as error:
            raise SweepError(f"sweep.tracking_uri: {error}") from error

    def _settle(self, ledger: Ledger) -> None:
        """Bring MLflow in line with the ledger; if it is away, the next start does."""
        tracking.deliver_outbox(self.tracking)
        try:
            tracking.close_left_over(self.tracking, _statuses(ledger))
        except ConnectionError as error:
            text = f"MLflow is away ({error}); its runs are put right by the next --resume."
            self.console.print(text, style="yellow", markup=False, soft_wrap=True)

    def _search(self, ledger: Ledger) -> bool:
        search, seed = search_of(self.sweep), int(self.sweep.run.get("seed", 0))
        seeds = tuple(range(seed, seed + self.sweep.settings.repeats))
        return self._stage(ledger, search, self._job(search, seeds=seeds))

    def _rerun(self, ledger: Ledger, chosen: Sequence[TrialRecord]) -> bool:
        points = reruns(chosen, self.sweep)
        search = rerun_of(points, ledger.test_records())
        # Of all trials: an earlier selection may have begun other reruns, which end here too.
        values = {record.number: dict(record.values) for record in ledger.records()}
        return self._stage(ledger, search, self._job(search, chosen=values))

    def _job(
        self,
        search: Search,
        seeds: tuple[int, ...] = (),
        chosen: Mapping[int, Values] | None = None,
    ) -> Job:
        settings = self.sweep.settings
        return Job(
            stage=search.stage,
            run=self.sweep.run,
            storage=f"{self.storage}/{search.stage}",
            tracking=self.tracking,
            seeds=seeds,
            chosen=chosen or {},
            checkpoint_epochs=settings.checkpoint_epochs,
            checkpoint_minutes=settings.checkpoint_minutes,
            report_seconds=0.5 if settings.scheduler == "none" else 0.0,
            about=self.about,
        )

    def _stage(self, ledger: Ledger, search: Search, job: Job) -> bool:
        """Run what is left of a stage; whether nothing is left then."""
        study = ledger.open(search)
        study.release_running()
        if study.n_left == 0:
            return True
        n_steps = trial.n_steps(self.configurations[0]) * max(1, len(job.seeds))
        trainable = functools.partial(trial.run_trial, job=job)
        with View(self.console, search.stage, study, self.share.at_once, n_steps) as view:
            tuner.build_tuner(
                study, trainable, self.share, self.sweep.settings, self.storage, view, n_steps
            ).fit()
        study.release_running()
        self._settle(ledger)
        return study.n_left == 0 or self._is_out_of_time(study.n_left)

    def _is_out_of_time(self, n_left: int) -> bool:
        """A budget of hours ends a search like any other end; more of them go on with it."""
        hours = self.sweep.settings.hours
        if hours is None or time.monotonic() - self.start < 3600 * hours:
            return False
        text = f"Out of time with {n_left} trials to go; more hours and --resume go on with them."
        self.console.print(text, style="yellow")
        return True

    # What came of it

    def _stopped(self, ledger: Ledger) -> int:
        """Somebody or the clock has stopped it."""
        tracking.close_sweep(self.tracking, "KILLED", {}, {"sweeper.status": "stopped"}, {})
        n_left = ledger.n_left(search_of(self.sweep))
        again = self.options.command.removesuffix(" --resume") + " --resume"
        what = f"{n_left} trials to go" if n_left else "reruns to go"
        self.console.print(f"Stopped with {what}; nothing is lost. Go on with:", style="yellow")
        self.console.print(f"  {again}", soft_wrap=True, highlight=False)
        return 130

    def _tell(self, ledger: Ledger) -> None:
        """Write the report, close the record, say where everything is."""
        from sweeper.report import render  # its plots take seconds to import: not at the start

        trials, tests = ledger.records(), ledger.test_records()
        report = render(self.sweep, trials, tests, self.about)
        report.write(self.folder)
        metrics = self._headline(facts_of(self.sweep, trials, tests))
        files = {
            "report.html": report.html,
            "report.md": report.markdown,
            "trials.csv": report.csv,
        }
        tracking.close_sweep(
            self.tracking, "FINISHED", metrics, {"sweeper.status": "finished"}, files
        )
        self.console.print(ranking_table(trials, self.sweep.objective))
        if tests:
            self.console.print(test_table(tests))
        ledger.places = self._places()
        self._print(ledger.places)
        if n_undelivered := tracking.deliver_outbox(self.tracking):
            outbox = self.folder / "outbox"
            self._print(
                [f"{n_undelivered} records wait for MLflow in {outbox}: --resume sends them"]
            )

    def _headline(self, facts: Facts) -> dict[str, float]:
        """What the parent run says of the best configuration."""
        metrics = {f"val/{k}": v for k, v in facts.best.metrics.items()} if facts.best else {}
        if facts.best_test:
            for name, value in (("acc", facts.best_test.acc), ("bwt", facts.best_test.bwt)):
                metrics |= {f"test/{name}_mean": value.mean, "test/seeds": value.n}
                metrics |= {f"test/{name}_std": value.deviation} if value.deviation else {}
        return metrics

    def _places(self) -> list[str]:
        lines = [f"report:  {self.folder / 'report.html'}"]
        if command := tracking.ui_command(self.uri):
            lines.append(f"MLflow:  {command}")
        link = tracking.ui_link(self.tracking, f"val/{self.sweep.objective[0]}")
        return [*lines, f"trials:  {link}", f"Optuna:  optuna-dashboard {self.folder / JOURNAL}"]

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.console.print(line, soft_wrap=True, highlight=False, markup=False)


def _absolute(place: str | None) -> str | None:
    return place if place is None or "://" in place else os.path.abspath(place)


def _statuses(ledger: Ledger) -> dict[str, str]:
    """How MLflow calls the ends of trials, by the keys of their runs."""
    return {
        f"{stage}-{record.key}": _STATUS[record.state]
        for stage in ("search", "test")
        for record in ledger.records(stage)
        if record.state in _STATUS
    }
