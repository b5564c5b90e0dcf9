"""The straight line of a launch: check all, plan all, run one queue, tell what came of it."""

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from types import ModuleType

from rich.console import Console
from rich.progress import track

from sweeper import tracking
from sweeper.config.sweep import Sweep
from sweeper.driver import cluster
from sweeper.driver.active import ActiveSweep
from sweeper.driver.closing import Closed, close, interrupt
from sweeper.driver.desk import Desk
from sweeper.driver.notifying import Notifier
from sweeper.driver.places import places_of, places_of_all
from sweeper.driver.plan import Plan, most_at_once, plan_of, plan_table, queue_table
from sweeper.driver.preparation import (
    OpenedSweep,
    Options,
    PreparedSweep,
    check_begun,
    only_driver,
    opened_sweeps,
    prepare,
    set_damage_aside,
    set_damaged_states_aside,
)
from sweeper.driver.sharing import Claims
from sweeper.driver.sweep_queue import SweepQueue
from sweeper.driver.tidying import Tidying
from sweeper.driver.view import View
from sweeper.driver.watching import RayWatch, ray_doors
from sweeper.errors import INTERRUPTED, SweepError
from sweeper.execution import storage
from sweeper.importing import importing
from sweeper.ledger.live import end_live
from sweeper.report.status import status_line
from sweeper.report.terminal import headline, print_lines, show_outcome
from sweeper.results.texts import counted, protection_warnings, resuming

_ANEW = "Another --output starts anew; more trials (sweep.trials=N) and --resume go on."
_SECONDS_TO_LEAVE = 5.0  # Tune, when Ray is gone
_SECONDS_TO_MEASURE = 0.3  # of each sweep, while Ray starts, of which it takes some


def launch(sweeps: Sequence[Sweep], options: Options, console: Console) -> int:
    """Check, plan, search, select, report; gives the exit code.

    Raises:
        SweepError: before anything has started, with the faults of all.
    """
    _refuse_faulty(sweeps, options, console)
    alone = nullcontext() if options.plan_only else only_driver(options.folder)
    with alone, cluster.left_as_found():
        every = opened_sweeps(sweeps, options)
        check_begun(every, options)
        print_lines(console, set_damage_aside(every, options))
        is_asked = options.plan_only or options.tracking_uri is not None
        left = [e for e in every if is_asked or not e.is_finished]
        if not left:
            _show_finished(every, options, console)
        prepared = _all_prepared(left, options, console)
        if options.plan_only:
            _show_plans(_planned(prepared, options, console), 0, console)
            return 0
        code = _run(prepared, options, console, len(every) - len(left)) if left else 0
        if options.is_table and code != INTERRUPTED:
            from sweeper.report.table1.writing import write  # seconds: not at the start

            write(options.folder, console)
        return code


def _refuse_faulty(sweeps: Sequence[Sweep], options: Options, console: Console) -> None:
    """Say all that is wrong, where something is before the output folder is looked into."""
    faults = []
    if wrong := storage.storage_fault(str(options.folder)):
        faults.append(f"--output: {wrong}")
    if not faults and not any(sweep.faults for sweep in sweeps):
        return
    with TemporaryDirectory() as nowhere:
        elsewhere = replace(options, folder=Path(nowhere))
        try:
            _all_prepared(opened_sweeps(sweeps, elsewhere), elsewhere, console)
        except SweepError as error:
            faults.append(str(error))
    raise SweepError("\n".join(faults))


def _run(
    prepared: Sequence[PreparedSweep], options: Options, console: Console, n_done: int
) -> int:
    try:
        print_lines(console, set_damaged_states_aside(prepared))
        return _Launch(prepared, options, console).run(n_done)
    except OSError as error:  # of the ledger or of a report: trials meet it by themselves
        raise SweepError(
            f"{options.folder}: the disk must take what is written, but: {error}. Nothing is lost "
            f"that was. Put it right, then go on with:\n  {resuming(options.command)}"
        ) from error


def show_all(sweeps: Sequence[Sweep], options: Options, console: Console) -> int:
    """What is known of the sweeps of a folder, while they run or after them."""
    every = opened_sweeps(sweeps, options)
    for name, ledger in ((opened.sweep.name, opened.ledger) for opened in every):
        line = status_line(ledger) if ledger.has_begun else f"{name}: not begun"
        print_lines(console, [line])
    return 0


def _show_finished(every: Sequence[OpenedSweep], options: Options, console: Console) -> None:
    """Say so, and change nothing."""
    if options.is_folder:
        text = f"All of these sweeps are finished; nothing was changed. {_ANEW}"
        console.print(text, style="green")
        return
    console.print(f"This sweep is finished; nothing was changed. {_ANEW}", style="green")
    show_outcome(console, every[0].ledger.facts())
    print_lines(console, every[0].ledger.places)


def _all_prepared(
    every: Sequence[OpenedSweep], options: Options, console: Console
) -> list[PreparedSweep]:
    prepared, faults = [], dict[str, None]()
    is_hidden = len(every) < 2
    for opened in track(every, "checking", console=console, transient=True, disable=is_hidden):
        try:
            prepared.append(prepare(opened, options))
        except SweepError as error:
            faults |= dict.fromkeys(str(error).splitlines())
    if faults and options.is_folder:
        hint = "--only PATTERN leaves sweeps out, such as --only '*.split_mnist*'."
        faults[hint] = None
    if faults:
        raise SweepError("\n".join(faults))
    return prepared


def _planned(prepared: Sequence[PreparedSweep], options: Options, console: Console) -> list[Plan]:
    where, is_hidden = options.address or "this machine", len(prepared) < 2
    text = "measuring a few steps of each"
    measuring = track(prepared, text, console=console, transient=True, disable=is_hidden)
    return [plan_of(part, len(prepared), where, _SECONDS_TO_MEASURE) for part in measuring]


def _show_plans(plans: Sequence[Plan], n_done: int, console: Console) -> None:
    if len(plans) == 1:
        console.print(plan_table(plans[0]))
    else:
        console.print(queue_table({plan.sweep.name: plan for plan in plans}, n_done))


class _Launch:
    """A queue from its plan to its last report."""

    def __init__(
        self, prepared: Sequence[PreparedSweep], options: Options, console: Console
    ) -> None:
        self.prepared, self.options, self.console = prepared, options, console
        self.is_queue = len(prepared) > 1
        self.clerk = ThreadPoolExecutor(1)  # writes reports while others still search
        self.closing: dict[int, Future[Closed]] = {}
        self.claims = Claims()
        self.actives = [self._active(place, part) for place, part in enumerate(prepared)]
        self.tidying = Tidying(self.actives)
        self.notifier = Notifier(self._again, self._say)

    def run(self, n_done: int) -> int:
        """Run, and let those know who want to; gives the exit code."""
        try:
            return self._ran(n_done)
        except Exception as error:
            for active in self.actives:
                self.notifier.ended(active, "failed", str(error))
            raise
        finally:
            self.notifier.wait()

    def _ran(self, n_done: int) -> int:
        """Plan while Ray starts, run, wait for the reports; gives the exit code."""
        dispatch, trial, plans = self._started(n_done)
        self._show_places()
        watch, notifier = RayWatch(ray_doors()), self.notifier
        with View(self.console, self.actives, [max(p.seconds, 1e-3) for p in plans]) as view:
            devices = self._devices()
            queue = SweepQueue(self.actives, devices, view, self._on_over, notifier.silent)
            cut_off = partial(self._cut_off, queue, view)
            with Desk(queue, view.progress, self._again).open():
                with watch.watching(cut_off):
                    dispatch.run_queue(queue, trial.run_trial, self._n_devices(), watch)
                self.clerk.shutdown()  # others see meanwhile that reports are being written
        return self._told(queue)

    def _cut_off(self, queue: SweepQueue, view: View, text: str, is_over: Event) -> None:
        """Ray is gone. Tune may wait for it where no exception reaches it: end without it then."""
        queue.halted, queue.is_cut_off = text, True
        if not is_over.wait(_SECONDS_TO_LEAVE):
            view.__exit__()
            for opened in (sweep.prepared.opened for sweep in queue.sweeps if sweep.is_open):
                end_live(opened.folder)
            code = self._told(queue)
            self.notifier.wait()
            os._exit(code)

    def _started(self, n_done: int) -> tuple[ModuleType, ModuleType, list[Plan]]:
        """Start Ray, measure a few steps and import Tune and MLflow, all side by side."""
        with importing(), ThreadPoolExecutor(2) as pool:
            modules = pool.submit(_imported, self.prepared[0].uri)
            plans = pool.submit(_planned, self.prepared, self.options, self.console)
            cluster.connect(self.options.address, self._say)
            _show_plans(plans.result(), n_done, self.console)
            return *modules.result(), plans.result()

    def _active(self, place: int, part: PreparedSweep) -> ActiveSweep:
        return ActiveSweep(
            place,
            part,
            most_at_once(part, len(self.prepared)),
            self.options.command,
            self.options.select_only,
            self._say,
            self.claims,
        )

    def _show_places(self) -> None:
        """Say where to look before the first trial; of a queue, at all of it."""
        if self.is_queue:
            lines = places_of_all(self.options.folder, self.prepared)
        else:
            only = self.actives[0]
            only.open()
            assert only.tracking is not None
            lines = places_of(self.prepared[0], only.tracking)
        print_lines(self.console, lines)

    def _say(self, text: str) -> None:
        self.console.print(text, style="yellow", markup=False, soft_wrap=True)

    @property
    def _again(self) -> str:
        """The command that goes on with what was stopped."""
        return resuming(self.options.command)

    def _devices(self) -> tuple[float, float] | None:
        """CPUs and GPUs in all; None where nodes may join, and Ray keeps the books."""
        if any(part.share.can_grow for part in self.prepared):
            return None
        nodes = cluster.nodes()
        return sum(cpus for cpus, _ in nodes), sum(gpus for _, gpus in nodes)

    def _n_devices(self) -> int:
        return max(part.share.at_once for part in self.prepared)

    def _on_over(self, active: ActiveSweep) -> None:
        self.closing[active.place] = self.clerk.submit(self._closed, active)

    def _closed(self, active: ActiveSweep) -> Closed:
        closed = close(active)
        if removed := self.tidying.over(active):
            print_lines(self.console, [removed])
        if self.is_queue:
            warnings = protection_warnings(closed.facts.best_protected)
            print_lines(self.console, [headline(closed.facts), *warnings])
        failures = closed.facts.failures if active.code else ()
        why = failures[0].reason if failures else ""
        self.notifier.ended(active, "failed" if active.code else "finished", why)
        return closed

    # What came of it

    def _told(self, queue: SweepQueue) -> int:
        """Say what came of all sweeps; gives the exit code."""
        if len(queue.refused) == len(queue.sweeps):
            raise SweepError("\n".join(dict.fromkeys(map(str, queue.refused.values()))))
        for place, error in queue.refused.items():
            self._say(str(error))
            self.notifier.ended(queue.sweeps[place], "failed", str(error))
        for place in sorted(self.closing):
            closed = self.closing[place].result()
            if not self.is_queue:
                show_outcome(self.console, closed.facts)
                print_lines(self.console, closed.places)
        if self.is_queue and self.closing:
            print_lines(self.console, places_of_all(self.options.folder, self.prepared))
        unfinished = [s for s in queue.sweeps if not s.is_over and s.place not in queue.refused]
        for active in unfinished:
            interrupt(active)
            self.notifier.ended(active, "failed" if queue.halted else "stopped", queue.halted)
        if unfinished:
            self._say_how_to_go_on(unfinished, queue.halted)
            return INTERRUPTED
        return max([2 * bool(queue.refused), *(sweep.code for sweep in queue.sweeps)])

    def _say_how_to_go_on(self, unfinished: Sequence[ActiveSweep], halted: str) -> None:
        if halted:
            self.console.print(halted, style="red", markup=False, soft_wrap=True)
        searches = [s.ledger.search(s.sweep) for s in unfinished if s.ledger.has_begun]
        n_left = sum(search.n_left for search in searches)
        n_left += sum(s.sweep.n_trials for s in unfinished if not s.ledger.has_begun)
        what = f"{counted(n_left, 'trial')} to go" if n_left else "reruns to go"
        self.console.print(f"Stopped with {what}; nothing is lost. Go on with:", style="yellow")
        self.console.print(f"  {self._again}", soft_wrap=True, highlight=False)


def _imported(uri: str) -> tuple[ModuleType, ModuleType]:
    """What takes seconds to import, while Ray takes some to start."""
    from sweeper.driver import dispatch
    from sweeper.execution import trial

    tracking.connect(uri)
    return dispatch, trial
