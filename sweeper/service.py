"""A sweep from its first trial to its report: each step is somebody else's work."""

import functools
import time
from collections.abc import Mapping, Sequence

from rich.console import Console

from sweeper import binding, tracking, trial, tuner
from sweeper.environment import environment
from sweeper.errors import INTERRUPTED, SweepError
from sweeper.facts import Facts, facts_of
from sweeper.ledger import JOURNAL, Ledger, rerun_of, search_of
from sweeper.preflight import Ready, outbox_of
from sweeper.records import TrialRecord
from sweeper.result_tables import show_outcome
from sweeper.selector import empty_groups, reruns, select
from sweeper.space import Values
from sweeper.storage import RUNS, below
from sweeper.study import Search
from sweeper.texts import group_name, protection_warnings, typed
from sweeper.tracking import Tracking
from sweeper.trial import Job
from sweeper.view import View, headline, print_lines

_STATUS = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}


class Service:
    """What the steps of a sweep hand to one another.

    Args:
        prepared: the sweep; Ray must run.
        console: for the live view and what came of it.
        is_part: of several sweeps, so that a line says what came of it.
    """

    def __init__(self, prepared: Ready, console: Console, is_part: bool = False) -> None:
        self.prepared, self.console, self.is_part = prepared, console, is_part
        self.sweep, self.options = prepared.sweep, prepared.options
        self.folder, self.uri, self.storage = prepared.folder, prepared.uri, prepared.storage
        self.share = prepared.share
        self.about = {**environment(), "command": self.options.command}
        self.start = 0.0

    # The sweep itself

    def run(self) -> int:
        """Search, rerun the best, report."""
        self.start = time.monotonic()
        ledger = Ledger(self.folder)
        ledger.begin(self.sweep)
        self.tracking = self._opened(ledger)
        ledger.tracking_uri = self.uri
        self._settle(ledger)
        if not self.options.select_only and not self._search(ledger):
            return self._stopped(ledger)
        chosen = self._selected(ledger)
        self._tell_of_empty_groups(ledger)
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

    def _tell_of_empty_groups(self, ledger: Ledger) -> None:
        """A comparison lacks them, whatever comes next."""
        if not self.sweep.select.each or not self.sweep.select.top:
            return
        for group in empty_groups(ledger.records(), self.sweep):
            text = f"{group_name(group)}: no trial has finished, so there is none to rerun."
            self.console.print(text, style="yellow", markup=False, soft_wrap=True)

    def _opened(self, ledger: Ledger) -> Tracking:
        try:
            return tracking.open_sweep(
                self.uri,
                self.sweep.name,
                ledger.sweep_id,
                f"sweep {self.sweep.name}",
                outbox_of(self.folder),
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
        is_kept = settings.keep_runs in ("all", search.stage)
        return Job(
            stage=search.stage,
            run=self.sweep.run,
            storage=below(self.storage, search.stage),
            tracking=self.tracking,
            seeds=seeds,
            chosen=chosen or {},
            checkpoint_epochs=settings.checkpoint_epochs,
            checkpoint_minutes=settings.checkpoint_minutes,
            runs=below(self.storage, RUNS) if is_kept else None,
            report_seconds=0.5 if settings.scheduler == "none" else 0.0,
            about=self.about,
        )

    def _stage(self, ledger: Ledger, search: Search, job: Job) -> bool:
        """Run what is left of a stage; whether nothing is left then."""
        study = ledger.open(search)
        study.release_running()
        if study.n_left == 0:
            return True
        n_steps = binding.n_steps(self.prepared.configurations[0]) * max(1, len(job.seeds))
        trainable = functools.partial(trial.run_trial, job=job)
        with View(self.console, search.stage, study, self.share.at_once, n_steps) as view:
            tuner.build_tuner(
                study, trainable, self.share, self.sweep.settings, self.storage, view, n_steps
            ).fit()
        study.release_running()
        self._settle(ledger)
        if study.halted:
            text = f"The storage is full; make space there, then go on. ({study.halted})"
            self.console.print(text, style="red", markup=False, soft_wrap=True)
            return False
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
        return INTERRUPTED

    def _tell(self, ledger: Ledger) -> None:
        """Write the report, close the record, say where everything is."""
        from sweeper.report import render  # its plots take seconds to import: not at the start

        trials, tests = ledger.records(), ledger.test_records()
        report = render(self.sweep, trials, tests, self.about)
        report.write(self.folder)
        facts = facts_of(self.sweep, trials, tests)
        tags = {"sweeper.status": "finished"}
        tracking.close_sweep(self.tracking, "FINISHED", self._headline(facts), tags, report.files)
        ledger.places = self._places()
        if self.is_part:
            print_lines(
                self.console, [headline(facts), *protection_warnings(facts.best_protected)]
            )
        else:
            show_outcome(self.console, facts, tests)
            print_lines(self.console, ledger.places)
        if n_undelivered := tracking.deliver_outbox(self.tracking):
            where = outbox_of(self.folder)
            text = f"{n_undelivered} records wait for MLflow in {where}: --resume sends them"
            print_lines(self.console, [text])

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
            lines.append(f"MLflow:  {typed(*command)}")
        link = tracking.ui_link(self.tracking, f"val/{self.sweep.objective[0]}")
        journal = typed("optuna-dashboard", str(self.folder / JOURNAL))
        return [*lines, f"trials:  {link}", f"Optuna:  {journal}"]


def _statuses(ledger: Ledger) -> dict[str, str]:
    """How MLflow calls the ends of trials, by the keys of their runs."""
    return {
        f"{stage}-{record.key}": _STATUS[record.state]
        for stage in ("search", "test")
        for record in ledger.records(stage)
        if record.state in _STATUS
    }
