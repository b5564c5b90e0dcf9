"""What a person sees of a queue while it runs: a live view, or a line for each end in a pipe."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sweeper.driver.active import ActiveSweep
from sweeper.execution.assignment import AnyAssignment, TrialAssignment
from sweeper.results.ranking import ranked
from sweeper.results.records import Record, TrialRecord
from sweeper.results.texts import duration, in_line, percent

_ENOUGH = 0.1  # trials done, from which a time can be told


@dataclass
class _Running:
    """A trial at work."""

    assignment: AnyAssignment
    n_steps: int
    step: int = 0
    score: float | None = None

    @property
    def share(self) -> float:
        """How much of it is done."""
        return min(1.0, self.step / max(1, self.n_steps))


@dataclass
class _Shown:
    """What is shown of a sweep beside what its ledger says."""

    best: TrialRecord | None = None
    n_failed: int = 0


@dataclass
class View:
    """How a queue goes on.

    Args:
        console: to print on.
        sweeps: of the queue.
        weights: seconds that a trial of each is expected to take.
    """

    console: Console
    sweeps: Sequence[ActiveSweep]
    weights: Sequence[float]
    _running: dict[tuple[int, str, int], _Running] = field(default_factory=dict)
    _shown: dict[int, _Shown] = field(default_factory=dict)
    _done: float = 0.0  # expected seconds of what has ended since the start

    def __post_init__(self) -> None:
        self.start = time.monotonic()
        self._live = Live(self, console=self.console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "View":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    # What the queue tells

    def started(self, assignment: AnyAssignment) -> None:
        """A trial has begun."""
        n_steps = self.sweeps[assignment.sweep].n_steps
        self._running[_place(assignment)] = _Running(assignment, n_steps)

    def reported(self, assignment: AnyAssignment, metrics: Mapping[str, Any]) -> None:
        """A trial says how far it is."""
        if trial := self._running.get(_place(assignment)):
            trial.step, trial.score = metrics.get("step", 0), metrics.get("score")

    def ended(self, assignment: AnyAssignment, record: Record) -> None:
        """A trial is over, or is to be tried again."""
        self._running.pop(_place(assignment), None)
        if record.state != "running":
            self._done += self._weight(assignment)
        shown = self._about(self.sweeps[assignment.sweep])
        shown.n_failed += record.state == "failed"
        if isinstance(record, TrialRecord):
            sweep = self.sweeps[assignment.sweep].sweep
            known = [shown.best, record] if shown.best else [record]
            shown.best = next(iter(ranked(known, sweep.objective)), None)
        if not self.console.is_terminal:
            line = self._line(assignment, record)
            self.console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)

    def _weight(self, assignment: AnyAssignment) -> float:
        return self.weights[assignment.sweep] * self._part(assignment)

    def _part(self, assignment: AnyAssignment) -> float:
        """A rerun has one seed, a trial has some."""
        repeats = self.sweeps[assignment.sweep].sweep.settings.repeats
        return len(assignment.seeds) / repeats

    def _about(self, sweep: ActiveSweep) -> _Shown:
        if sweep.place not in self._shown:
            trials = sweep.ledger.trial_records()
            best = next(iter(ranked(trials, sweep.sweep.objective)), None)
            n_failed = sum(trial.state == "failed" for trial in trials)
            self._shown[sweep.place] = _Shown(best, n_failed)
        return self._shown[sweep.place]

    def _line(self, assignment: AnyAssignment, record: Record) -> str:
        sweep = self.sweeps[assignment.sweep]
        stage = sweep.stage
        assert stage is not None
        reached, state = record.reason or "", str(record.state)
        if state == "finished":
            reached = _reached(record)
        elif state == "running":
            state, reached = "interrupted", "it is tried again"
        count = f"{stage.n_wanted - stage.n_left}/{stage.n_wanted}"
        head = f"[{self._sweep_name(assignment)}{assignment.stage} {count}]"
        seconds = self._seconds_left()
        left = f"  ({duration(seconds)} left)" if seconds else ""
        return f"{head} {assignment.name} {state}: {reached}  {_settings(assignment)}{left}"

    def _sweep_name(self, assignment: AnyAssignment) -> str:
        """The name of its sweep where there are several, and a space."""
        name = self.sweeps[assignment.sweep].sweep.name
        return f"{name} " if len(self.sweeps) > 1 else ""

    # What is shown

    def __rich__(self) -> RenderableType:
        at_work = [s for s in self.sweeps if s.stage is not None]
        parts: list[RenderableType] = []
        if len(self.sweeps) > 1:
            n_over = sum(sweep.is_over for sweep in self.sweeps)
            parts.append(f"{n_over} of {len(self.sweeps)} sweeps done, {self._times()}")
        parts.append(self._sweep_lines(at_work) if at_work else Text("starting", style="dim"))
        parts += [self._best(sweep) for sweep in at_work]
        return Group(*parts, self._running_table())

    def _sweep_lines(self, at_work: Sequence[ActiveSweep]) -> Table:
        lines = Table.grid(padding=(0, 2))
        for sweep in at_work:
            stage = sweep.stage
            assert stage is not None
            n_over = stage.n_wanted - stage.n_left
            failed = self._about(sweep).n_failed
            counts = f"{n_over}/{stage.n_wanted} done, {stage.n_running} running, {failed} failed"
            title = f"{sweep.sweep.name} {stage.name}" if len(self.sweeps) > 1 else stage.name
            bar = ProgressBar(total=max(1, stage.n_wanted), completed=n_over, width=30)
            times = "" if len(self.sweeps) > 1 else self._times()
            lines.add_row(Text(title, style="bold"), bar, counts, times)
        return lines

    def _times(self) -> str:
        seconds = self._seconds_left()
        left = "time left unknown yet" if seconds is None else f"about {duration(seconds)} left"
        return f"{duration(time.monotonic() - self.start)} so far, {left}"

    def _best(self, sweep: ActiveSweep) -> Text:
        best = self._about(sweep).best
        head = f"{sweep.sweep.name}: " if len(self.sweeps) > 1 else ""
        if best is None:
            return Text(f"{head}no trial has finished yet", style="dim")
        found = f"{head}best so far: {_reached(best)}  trial {best.number}  {in_line(best.values)}"
        return Text(found, style="green")

    def _running_table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for trial in list(self._running.values()):
            table.add_row(
                Text(f"  {self._sweep_name(trial.assignment)}{trial.assignment.name}"),
                ProgressBar(total=1.0, completed=trial.share, width=20),
                f"{percent(trial.score):>8}" if trial.score else "starting",
                Text(_settings(trial.assignment), style="dim"),
            )
        return table

    def _seconds_left(self) -> float | None:
        """The time left, from what was done so far; None while that is too little to tell."""
        running = list(self._running.values())
        begun = sum(self._weight(one.assignment) * one.share for one in running)
        done = self._done + begun
        if done < _ENOUGH * min(self.weights):
            return None
        left = sum(self._left_of(sweep) for sweep in self.sweeps) - begun
        return max(0.0, left) * (time.monotonic() - self.start) / done

    def _left_of(self, sweep: ActiveSweep) -> float:
        """Expected seconds of what has no final state yet; reruns count one seed each."""
        if sweep.is_over:
            return 0.0
        weight, repeats = self.weights[sweep.place], sweep.sweep.settings.repeats
        stage = sweep.stage
        if stage is not None and stage.name == "test":
            return stage.n_left * weight / repeats
        n_left = stage.n_left if stage is not None else sweep.sweep.n_trials
        return n_left * weight + sweep.sweep.n_reruns * weight / repeats


def _place(assignment: AnyAssignment) -> tuple[int, str, int]:
    return assignment.sweep, assignment.stage, assignment.number


def _settings(assignment: AnyAssignment) -> str:
    return in_line(assignment.values) if isinstance(assignment, TrialAssignment) else ""


def _reached(record: Record) -> str:
    acc, bwt = record.metrics["acc"], record.metrics["bwt"]
    return f"ACC {percent(acc)}  BWT {percent(bwt, is_signed=True)}"
