"""What sweeps will take: worked out before they start, and shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sweeper.config.sweep import Sweep
from sweeper.driver import binding
from sweeper.driver.cluster import amounts
from sweeper.driver.preparation import PreparedSweep
from sweeper.driver.sharing import Saving, expected_saving
from sweeper.results.ranking import finished
from sweeper.results.records import FINAL_STATES, TrialRecord
from sweeper.results.texts import NOTHING, counted, duration

_FEWEST_AT_ONCE, _ROUNDS = 4, 8  # a sampler learns if it sees that many results one after another


@dataclass(frozen=True)
class Plan:
    """What will be done, and what it will take.

    Args:
        left: trials without a result.
        seconds: of one trial, all its repeats.
        source: where that figure comes from.
        at_once: trials side by side.
        where: the machine or the address of a cluster.
        saving: what sharing first tasks saves; None where nothing is shared.
    """

    prepared: PreparedSweep
    left: int
    seconds: float
    source: str
    at_once: int
    where: str
    saving: Saving | None = None

    @property
    def sweep(self) -> Sweep:
        """What is asked for."""
        return self.prepared.sweep

    @property
    def device_seconds(self) -> float:
        """The device time of all trials and reruns together."""
        rerun_seconds = self.seconds / self.sweep.settings.repeats
        return self.left * self.trial_seconds + self.sweep.n_reruns * rerun_seconds

    @property
    def trial_seconds(self) -> float:
        """The device time of a trial on average, its part of the first tasks included."""
        return self.seconds / (self.saving.factor if self.saving else 1.0)

    @property
    def wall_seconds(self) -> float:
        """The time from now, if all trials take the same and nothing else runs."""
        waves = -(-self.left // self.at_once) * self.trial_seconds
        again = -(-self.sweep.n_reruns // self.at_once) * self.seconds
        return waves + again / self.sweep.settings.repeats


def most_at_once(prepared: PreparedSweep, n_sweeps: int) -> int | None:
    """The most trials of a sweep side by side; None where devices alone decide.

    In a queue, samplers that learn from results are not given so many that they could not; the
    devices are for the other sweeps then. `sweep.concurrency` says otherwise.
    """
    settings, share = prepared.sweep.settings, prepared.share
    if settings.concurrency or not share.can_grow:
        most: int | None = share.at_once
    else:
        most = None
    is_learning = prepared.sweep.sampler.name not in ("grid", "random")
    if n_sweeps == 1 or settings.concurrency or not is_learning:
        return most
    learning = max(_FEWEST_AT_ONCE, prepared.sweep.n_trials // _ROUNDS)
    return learning if most is None else min(most, learning)


def plan_of(prepared: PreparedSweep, n_sweeps: int, where: str, spend: float) -> Plan:
    """What will be done, and what it will take, found out in `spend` seconds or a little more."""
    ledger = prepared.opened.ledger
    records = ledger.trial_records() if ledger.has_begun else []
    n_over = sum(record.state in FINAL_STATES for record in records)
    seconds, source = (nan, "") if prepared.missing else _cost(prepared, finished(records), spend)
    return Plan(
        prepared=prepared,
        left=max(0, prepared.sweep.n_trials - n_over),
        seconds=seconds,
        source=source,
        at_once=most_at_once(prepared, n_sweeps) or prepared.share.at_once,
        where=where,
        saving=None if prepared.missing else _saving(prepared),
    )


def _saving(prepared: PreparedSweep) -> Saving | None:
    n_tasks = max(map(binding.n_tasks, prepared.configurations), default=0)
    return expected_saving(prepared.sweep, n_tasks) if n_tasks > 1 else None


def _cost(prepared: PreparedSweep, done: Sequence[TrialRecord], spend: float) -> tuple[float, str]:
    if done:
        seconds = sum(record.seconds_alone for record in done) / len(done)
        return seconds, f"mean of {counted(len(done), 'finished trial')}"
    n_threads = prepared.share.n_threads
    seconds = binding.expected_cost(prepared.configurations[0], n_threads, spend)
    measured_on = binding.device_name(prepared.configurations[0])
    source = f"from a few steps on {measured_on} of this machine"
    if prepared.share.gpu and measured_on == "a CPU":
        source += ", while trials run on a GPU"
    return seconds * prepared.sweep.settings.repeats, source


def plan_table(plan: Plan) -> Table:
    """The plan, a line for each thing that a person wants to know before it starts."""
    sweep, share = plan.sweep, plan.prepared.share
    table = Table(title=Text(f"Plan of {sweep.name}"), show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    n_done, repeats = sweep.n_trials - plan.left, sweep.settings.repeats
    begun = f", {n_done} of them done" if n_done else ""
    seeds = f", each with {repeats} seeds" if repeats > 1 else ""
    why = f" ({sweep.sampler.reason})" if sweep.sampler.reason else ""
    why_so_many = f" ({share.reason})" if share.reason else ""
    given = f"{amounts(share.cpu, share.gpu)}{why_so_many}, on {plan.where}"
    by = f"{sweep.n_trials} by {sweep.sampler.name}{why}"
    table.add_row("trials", Text(f"{by}{begun}{seeds}, on validation data"))
    if plan.saving:
        table.add_row("sharing saves", plan.saving.text)
    table.add_row("then", _rerun_text(sweep))
    if plan.prepared.missing:
        table.add_row("data to get", Text("\n".join(plan.prepared.missing), style="yellow"))
    else:
        table.add_row("a trial takes", f"{duration(plan.seconds)} ({plan.source})")
    table.add_row("devices", f"{counted(plan.at_once, 'trial')} at once, each with {given}")
    table.add_row("expected", _from_now(plan.wall_seconds))
    table.add_row("files", Text(str(plan.prepared.opened.folder)))
    table.add_row("MLflow", Text(plan.prepared.uri))
    return table


def _from_now(seconds: float) -> str:
    return "unknown without the data" if isnan(seconds) else f"{duration(seconds)} from now"


def _rerun_text(sweep: Sweep) -> Text:
    n_orders, top = sweep.n_order_reruns, sweep.select.top
    orders = f"; {n_orders} of them on unseen class orders" if n_orders else ""
    if top > sweep.n_trials:
        orders += f"; select.top asks for {top}, but there are {sweep.n_trials} trials"
    if not sweep.select.each:
        return Text(f"{counted(sweep.n_reruns, 'rerun')} of the best on the test sets{orders}")
    groups, n = " and ".join(sweep.select.each), counted(sweep.n_reruns, "rerun")
    return Text(f"at most {n} on the test sets, of the best of each {groups}{orders}")


def queue_table(plans: Mapping[str, Plan], n_done: int) -> Group:
    """What several sweeps take: a line for each, or a grid of those named ROW.COLUMN."""
    columns = list(dict.fromkeys(name.partition(".")[2] for name in plans))
    table = Table()
    table.add_column("")
    for column in columns:
        table.add_column(Text(column or "device time"), justify="right")
    for row in dict.fromkeys(name.partition(".")[0] for name in plans):
        names = [f"{row}.{column}" if column else row for column in columns]
        table.add_row(Text(row), *(_device_time(plans.get(name)) for name in names))
    return Group("Plan: device time of each sweep", table, *_queue_lines(plans, n_done))


def _device_time(plan: Plan | None) -> str:
    if plan is None:
        return NOTHING
    return "no data" if plan.prepared.missing else duration(plan.device_seconds)


def _queue_lines(plans: Mapping[str, Plan], n_done: int) -> list[RenderableType]:
    every = list(plans.values())
    missing = dict.fromkeys(text for plan in every for text in plan.prepared.missing)
    total = sum(plan.device_seconds for plan in every)
    n_devices = max(plan.prepared.share.at_once for plan in every)
    trials = counted(sum(p.left for p in every), "trial")
    reruns = counted(sum(p.sweep.n_reruns for p in every), "rerun")
    done = f", {n_done} more are done" if n_done else ""
    text = f"{counted(len(every), 'sweep')}{done}: {trials}, {reruns}"
    learning = [plan.at_once for plan in every if plan.at_once < plan.prepared.share.at_once]
    in_all = "" if isnan(total) else f", {duration(total)} in all"
    lines = [*missing, f"{text}{in_all}; expected {_from_now(total / n_devices)}"]
    if learning:
        most = counted(max(learning), "trial")
        lines.append(
            f"One queue on {counted(n_devices, 'device')}; at most {most} at once of a sweep "
            "whose sampler learns (sweep.concurrency sets another number)"
        )
    return [Text(line) for line in lines]
