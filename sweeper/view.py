"""What a person sees of a sweep: the plan, how it goes, and what came out."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from sweeper.facts import Facts
from sweeper.ranking import ranked
from sweeper.records import State, TrialRecord
from sweeper.space import Values
from sweeper.study import Study
from sweeper.texts import NOTHING, duration, in_line, percent, short_names, shown

_COLOURS: dict[State, str] = {"finished": "green", "failed": "red", "stopped": "yellow"}
_ENOUGH = 0.1  # trials done, from which a time can be told


@dataclass(frozen=True)
class Plan:
    """What will be done, and what it will take.

    Args:
        trials: configurations in all, and
        left: those without a result.
        reruns: of the best, on the test sets.
        seconds: of one trial, all its repeats.
        source: where that figure comes from.
        each: paths; the best of every combination of their values are rerun.
        at_once: trials side by side, each with
        share: this much.
    """

    name: str
    trials: int
    left: int
    reruns: int
    repeats: int
    seconds: float
    source: str
    at_once: int
    share: str
    sampler: str
    places: Mapping[str, str]
    each: Sequence[str] = ()

    @property
    def device_seconds(self) -> float:
        """Of all trials and reruns together."""
        return self.left * self.seconds + self.reruns * self.seconds / self.repeats

    @property
    def wall_seconds(self) -> float:
        """As if all trials took the same."""
        waves = -(-self.left // self.at_once) * self.seconds
        return waves + -(-self.reruns // self.at_once) * self.seconds / self.repeats


def plan_table(plan: Plan) -> Table:
    """The plan, a line for each thing that a person wants to know before it starts."""
    title = Text(f"Plan of {plan.name}")
    table = Table(title=title, show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    done = plan.trials - plan.left
    begun = f", {done} of them done" if done else ""
    repeats = f", each with {plan.repeats} seeds" if plan.repeats > 1 else ""
    table.add_row("trials", f"{plan.trials} by {plan.sampler}{begun}{repeats}, on validation data")
    table.add_row("then", _rerun_text(plan))
    table.add_row("a trial takes", f"{duration(plan.seconds)} ({plan.source})")
    table.add_row("devices", f"{plan.at_once} trials at once, each with {plan.share}")
    table.add_row("expected", f"{duration(plan.wall_seconds)} from now")
    for name, place in plan.places.items():
        table.add_row(name, Text(place))
    return table


def _rerun_text(plan: Plan) -> Text:
    if not plan.each:
        return Text(f"{plan.reruns} reruns of the best on the test sets")
    groups = " and ".join(plan.each)
    return Text(f"at most {plan.reruns} reruns on the test sets, of the best of each {groups}")


def queue_table(plans: Mapping[str, Plan], n_done: int) -> Group:
    """What several sweeps take: a line for each, or a grid of those named ROW.COLUMN."""
    columns = list(dict.fromkeys(name.partition(".")[2] for name in plans))
    table = Table()
    table.add_column("")
    for column in columns:
        table.add_column(Text(column or "device time"), justify="right")
    for row in dict.fromkeys(name.partition(".")[0] for name in plans):
        names = [f"{row}.{column}" if column else row for column in columns]
        cells = [duration(plans[n].device_seconds) if n in plans else NOTHING for n in names]
        table.add_row(Text(row), *cells)
    total = duration(sum(plan.device_seconds for plan in plans.values()))
    wall = duration(sum(plan.wall_seconds for plan in plans.values()))
    trials = sum(plan.left for plan in plans.values())
    reruns = sum(plan.reruns for plan in plans.values())
    done = f", {n_done} more are done" if n_done else ""
    text = f"{len(plans)} sweeps{done}: {trials} trials, {reruns} reruns, {total} in all"
    return Group("Plan: device time of each sweep", table, f"{text}; expected {wall} from now")


def ranking_table(
    trials: Sequence[TrialRecord], objective: Sequence[str], most: int = 10
) -> Table:
    """The best trials, the best first; the others are counted."""
    best = ranked(trials, objective)
    table = Table(title="Trials, the best first (validation data)", title_justify="left")
    for name, justify in (("", "right"), ("trial", "right"), ("ACC", "right"), ("BWT", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    paths = list(dict.fromkeys(path for trial in best[:most] for path in trial.values))
    names = short_names(paths)
    for path in paths:
        table.add_column(Text(names[path]), justify="right")
    table.add_column("time", justify="right")
    for place, trial in enumerate(best[:most], start=1):
        reached = (percent(trial.metrics["acc"]), percent(trial.metrics["bwt"], is_signed=True))
        cells = [Text(shown(trial.values[path]) if path in trial.values else "") for path in paths]
        head = (str(place), str(trial.number), *reached)
        row: list[RenderableType] = [*head, *cells, duration(trial.seconds)]
        table.add_row(*row, style="bold green" if place == 1 else None)
    counts = _counted(trials)
    hidden = f"{len(best) - most} more finished; " if len(best) > most else ""
    table.caption = hidden + ", ".join(f"{n} {state}" for state, n in counts.items())
    return table


def headline(facts: Facts) -> str:
    """What came of a sweep, in a line."""
    if facts.best is None:
        return f"{facts.sweep.name}: no trial has finished"
    found, where = facts.best_test, "test"
    if found is None:
        acc, bwt, where = facts.best.metrics["acc"], facts.best.metrics["bwt"], "validation"
        reached = f"ACC {percent(acc)}  BWT {percent(bwt, is_signed=True)}"
    else:
        reached = f"ACC {percent(found.acc)}  BWT {percent(found.bwt, is_signed=True)}"
    return f"{facts.sweep.name}: {where} {reached}  {in_line(facts.best.values)}"


def _counted(trials: Sequence[TrialRecord]) -> dict[str, int]:
    states = [trial.state for trial in trials if trial.state != "interrupted"]
    return {state: states.count(state) for state in dict.fromkeys(states)}


def print_lines(console: Console, lines: Sequence[str]) -> None:
    """Paths, links and commands as they are, to be copied."""
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False)


class View:
    """How a stage goes on: live on a terminal, a line for each end elsewhere."""

    def __init__(
        self, console: Console, title: str, study: Study, at_once: int, n_steps: int
    ) -> None:
        self.console, self.title, self.study = console, title, study
        self.at_once, self.n_steps = at_once, max(1, n_steps)
        self.start = time.monotonic()
        self.running: dict[int, dict[str, Any]] = {}
        self.records: dict[int, TrialRecord] = {r.number: r for r in study.records()}
        self.best = ranked(list(self.records.values()), study.search.objective)[:1]
        self.n_before = self._n_over()
        self.live = Live(self, console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> "View":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.live.stop()

    # What Tune tells

    def started(self, number: int, values: Values) -> None:
        """A trial has begun."""
        self.running[number] = {"values": values, "step": 0, "acc": None}

    def reported(self, number: int, metrics: Mapping[str, Any]) -> None:
        """A trial says how far it is."""
        if number in self.running:
            self.running[number] |= {"step": metrics.get("step", 0), "score": metrics.get("score")}

    def ended(self, number: int, state: State) -> None:
        """A trial is over."""
        self.running.pop(number, None)
        self.records[number] = record = self.study.record(number)
        self.best = ranked([*self.best, record], self.study.search.objective)[:1]
        if not self.console.is_terminal:
            line = self._line(record)
            self.console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)

    def _line(self, record: TrialRecord) -> str:
        reached = record.reason or ""
        if record.state == "finished":
            acc, bwt = record.metrics["acc"], record.metrics["bwt"]
            reached = f"ACC {percent(acc)}  BWT {percent(bwt, is_signed=True)}"
        place = f"{self._n_over()}/{self.study.search.n_trials}"
        head = f"[{self.title} {place}]"
        seconds = self._seconds_left()
        left = f"  ({duration(seconds)} left)" if seconds and self.study.n_left else ""
        trial = f"trial {record.number} {record.state}"
        return f"{head} {trial}: {reached}  {in_line(record.values)}{left}"

    # What is shown

    def __rich__(self) -> RenderableType:
        n_over, n_trials = self._n_over(), self.study.search.n_trials
        head = Table.grid(padding=(0, 2))
        states = _counted(list(self.records.values()))
        failed = states.get("failed", 0)
        counts = f"{n_over}/{n_trials} done, {len(self.running)} running, {failed} failed"
        elapsed = duration(time.monotonic() - self.start)
        head.add_row(
            Text(self.title, style="bold"),
            ProgressBar(total=n_trials, completed=n_over, width=30),
            counts,
            f"{elapsed} so far, {self._left_text()}",
        )
        return Group(head, self._best(), self._running_table())

    def _left_text(self) -> str:
        seconds = self._seconds_left()
        return "time left unknown yet" if seconds is None else f"about {duration(seconds)} left"

    def _best(self) -> Text:
        if not self.best:
            return Text("no trial has finished yet", style="dim")
        best = self.best[0]
        acc, bwt = best.metrics["acc"], best.metrics["bwt"]
        found = f"best so far: ACC {percent(acc)}  BWT {percent(bwt, is_signed=True)}"
        return Text(f"{found}  trial {best.number}  {in_line(best.values)}", style="green")

    def _running_table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for number, trial in self.running.items():
            score = trial.get("score")
            table.add_row(
                f"  trial {number}",
                ProgressBar(total=self.n_steps, completed=trial["step"], width=20),
                f"{percent(score):>8}" if score else "starting",
                Text(in_line(trial["values"]), style="dim"),
            )
        return table

    def _n_over(self) -> int:
        return sum(record.state in _COLOURS for record in self.records.values())

    def _seconds_left(self) -> float | None:
        """From what was done so far, in whole trials; None while that is too little to tell."""
        begun = sum(trial["step"] for trial in self.running.values()) / self.n_steps
        done = self._n_over() - self.n_before + begun
        if done < _ENOUGH:
            return None
        return max(0.0, self.study.n_left - begun) * (time.monotonic() - self.start) / done
