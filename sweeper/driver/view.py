"""What a person sees of a queue while it runs: a live view, or a line for each end in a pipe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from sweeper.driver.active import ActiveSweep
from sweeper.driver.progress import Progress
from sweeper.execution.assignment import AnyAssignment, TrialAssignment
from sweeper.report.terminal import one_line, running_lines
from sweeper.results.ranking import ranked
from sweeper.results.records import Record, TrialRecord
from sweeper.results.texts import duration, in_line, reached


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
    _shown: dict[int, _Shown] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.progress = Progress(self.sweeps, self.weights)
        self._live = Live(self, console=self.console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "View":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    # What the queue tells

    def started(self, assignment: AnyAssignment) -> None:
        """A trial is given to a worker."""
        self.progress.started(assignment)

    def reported(self, assignment: AnyAssignment, metrics: Mapping[str, Any]) -> None:
        """A trial says how far it is."""
        self.progress.reported(assignment, metrics)

    def ended(self, assignment: AnyAssignment, record: Record) -> None:
        """A trial is over, or is to be tried again; on a terminal only what went wrong is told."""
        self.progress.ended(assignment, record)
        shown = self._about(self.sweeps[assignment.sweep])
        shown.n_failed += record.state == "failed"
        if isinstance(record, TrialRecord):
            sweep = self.sweeps[assignment.sweep].sweep
            known = [shown.best, record] if shown.best else [record]
            shown.best = next(iter(ranked(known, sweep.objective)), None)
        if not self.console.is_terminal or record.state == "failed":
            style = "red" if record.state == "failed" else ""
            self.console.print(Text(self._line(assignment, record), style), soft_wrap=True)

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
        text, state = record.reason or "", str(record.state)
        if state == "finished":
            text = reached(record.metrics["acc"], record.metrics["bwt"])
        elif state == "running":
            state, text = "interrupted", "it is tried again"
        count = f"{stage.n_wanted - stage.n_left}/{stage.n_wanted}"
        head = f"[{self._sweep_name(assignment)}{assignment.stage} {count}]"
        seconds = self.progress.seconds_left
        left = f"  ({duration(seconds)} left)" if seconds else ""
        return f"{head} {assignment.name} {state}: {text}  {_settings(assignment)}{left}"

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
        for sweep in at_work:
            parts += [self._counts(sweep), self._best(sweep)]
            parts += running_lines(self.progress.running(sweep.place))
        is_over = all(sweep.is_over for sweep in self.sweeps)
        nothing_runs = "all is done, the report is being written" if is_over else "starting"
        return Group(*(parts or [Text(nothing_runs, style="dim")]))

    def _counts(self, sweep: ActiveSweep) -> Text:
        stage = sweep.stage
        assert stage is not None
        n_over, failed = stage.n_wanted - stage.n_left, self._about(sweep).n_failed
        name = f"{sweep.sweep.name} {stage.name}" if len(self.sweeps) > 1 else stage.name
        counts = f"{n_over}/{stage.n_wanted} done, {stage.n_running} running, {failed} failed"
        times = "" if len(self.sweeps) > 1 else f"; {self._times()}"
        return one_line(Text.assemble((name, "bold"), f"  {counts}{times}"))

    def _times(self) -> str:
        seconds, so_far = self.progress.seconds_left, duration(self.progress.seconds)
        left = "time left unknown yet" if seconds is None else f"about {duration(seconds)} left"
        return f"{so_far} so far, {left}"

    def _best(self, sweep: ActiveSweep) -> Text:
        best = self._about(sweep).best
        head = f"{sweep.sweep.name}: " if len(self.sweeps) > 1 else ""
        if best is None:
            return Text(f"{head}no trial has finished yet", style="dim")
        found = reached(best.metrics["acc"], best.metrics["bwt"])
        text = f"{head}best so far: {found}  trial {best.number}  {in_line(best.values)}"
        return one_line(Text(text, style="green"))


def _settings(assignment: AnyAssignment) -> str:
    return in_line(assignment.values) if isinstance(assignment, TrialAssignment) else ""
