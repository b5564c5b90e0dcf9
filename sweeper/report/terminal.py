"""What came of a sweep, as tables for a terminal: reruns, their groups, what is protected."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from sweeper.config.groups import group_of
from sweeper.ledger.live import RunningTrial
from sweeper.results.comparison import Comparison, Difference, Pair, compare
from sweeper.results.facts import Facts, Protected
from sweeper.results.ranking import ranked
from sweeper.results.records import TrialRecord
from sweeper.results.sharing import saved_text
from sweeper.results.tested import Tested
from sweeper.results.texts import (
    by_chance,
    coefficient,
    duration,
    group_name,
    in_line,
    percent,
    protection_warnings,
    reached,
    short_difference,
    short_names,
    short_value,
    spread,
)


def show_outcome(console: Console, facts: Facts) -> None:
    """Print what came of a sweep so far: its ranking, its reruns, how selectively it protects."""
    if facts.ranked:
        console.print(ranking_table(facts.trials, facts.sweep.objective))
    else:
        counts = ", ".join(f"{n} {state}" for state, n in _counted(facts.trials).items())
        print_lines(console, [f"No trial has finished: {counts or 'none has begun'}."])
    for table in result_tables(facts):
        console.print(table)
    if facts.best_protected:
        console.print(protection_table(facts.best_protected))
    if saved := saved_text(facts.trials):
        print_lines(console, [saved])


def result_tables(facts: Facts) -> list[Table]:
    """What reruns came to; on unseen class orders in a table of its own. Nothing before one."""
    return [
        *(_tuned_tables(facts) if facts.tests else []),
        *([order_table(facts)] if facts.order_tests else []),
    ]


def _tuned_tables(facts: Facts) -> list[Table]:
    """Differences of groups, then the groups, where a sweep has some."""
    if not facts.sweep.select.each:
        return [rerun_table(facts.tests)]
    found = compare(facts)
    return [*([pair_table(found)] if found.pairs else []), group_table(found)]


def rerun_table(tests: Sequence[Tested]) -> Table:
    """The reruns, one line per configuration: mean and deviation over seeds."""
    table = Table(title="The best, on the test sets", title_justify="left")
    for name in ("trial", "seeds", "ACC", "BWT"):
        table.add_column(name, justify="right")
    for result in tests:
        cells = percent(result.acc), percent(result.bwt, is_signed=True)
        table.add_row(str(result.configuration), str(result.acc.n), *cells)
    return table


def order_table(facts: Facts) -> Table:
    """The reruns on unseen class orders, one line per configuration: mean and deviation."""
    title = "The best on unseen class orders, on the test sets"
    table = Table(title=title, title_justify="left")
    each = facts.sweep.select.each
    if each:
        table.add_column("group", no_wrap=True)
    for name in ("trial", "orders", "ACC", "BWT"):
        table.add_column(name, justify="right")
    for result in facts.order_tests:
        values = result.search.values if result.search else {}
        group = [Text(group_name(group_of(values, each)))] if each else []
        cells = percent(result.acc), percent(result.bwt, is_signed=True)
        table.add_row(*group, str(result.configuration), str(result.acc.n), *cells)
    return table


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
        scores = (percent(trial.metrics["acc"]), percent(trial.metrics["bwt"], is_signed=True))
        cells = [Text(short_value(trial.values[p]) if p in trial.values else "") for p in paths]
        head = (str(place), str(trial.number), *scores)
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
    if found := facts.best_test:
        text = f"test {reached(found.acc, found.bwt)}"
    else:
        text = f"validation {reached(facts.best.metrics['acc'], facts.best.metrics['bwt'])}"
    orders = facts.best_order_test
    unseen = f"  (unseen class orders: ACC {percent(orders.acc)})" if orders else ""
    return f"{facts.sweep.name}: {text}{unseen}  {in_line(facts.best.values)}"


def running_lines(running: Sequence[RunningTrial]) -> list[Text]:
    """Trials at work, a line each, cut where the terminal ends."""
    return [
        one_line(Text(head).append(f"  {trial.settings}", style="dim"))
        for trial, head in zip(running, running_heads(running), strict=True)
    ]


def running_heads(running: Sequence[RunningTrial]) -> list[str]:
    """Trials at work by name, place and ACC, in columns; reruns too fit into 80 characters."""
    wide = [max(map(len, column), default=0) for column in zip(*map(_heads, running), strict=True)]
    return [
        "  " + "  ".join(f"{text:<{n}}" for text, n in zip(_heads(trial), wide, strict=True))
        for trial in running
    ]


def _heads(trial: RunningTrial) -> tuple[str, str, str]:
    acc = "" if trial.acc is None else f"ACC {percent(trial.acc)} so far"
    return trial.name, trial.place or "starting", acc


def one_line(text: Text) -> Text:
    """A text that is cut rather than continued on the next line."""
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def protection_table(found: Protected) -> Group:
    """How selectively a configuration protects, and a line where it does not select."""
    title = f"How selectively trial {found.configuration} protects ({found.split})"
    table = Table(title=title, title_justify="left")
    for name in ("after task", "held", "free", "selectivity"):
        table.add_column(name, justify="right")
    for after in dict.fromkeys([found.first, found.last]):
        shares = percent(after.held), percent(after.free)
        table.add_row(str(after.task + 1), *shares, coefficient(after.selectivity))
    return Group(table, *(Text(line, style="yellow") for line in protection_warnings(found)))


def group_table(found: Comparison) -> Table:
    """A line per group: what its best trial on validation data does on the test sets."""
    table = Table(title="The best of each group, on the test sets", title_justify="left")
    table.add_column("group", no_wrap=True)
    for head in ("ACC (%)", "BWT (%)", "seeds"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("configuration", overflow="fold")
    for member in found.members:
        name, result = Text(group_name(member.group)), member.rerun
        if result is None:
            table.add_row(name, "", "", "", Text(member.missing, style="yellow"))
            continue
        scores = spread(result.acc), spread(result.bwt, is_signed=True), str(result.acc.n)
        style = "bold green" if member.group == found.best else None
        settings = Text(in_line(member.settings))
        table.add_row(name, *scores, settings, style=style)
    return table


def pair_table(found: Comparison) -> Table:
    """A line per pair, narrow; those with the same first group stand together."""
    table = Table(title="Differences on the test sets, seed by seed", title_justify="left")
    table.add_column("group")
    table.add_column("less")
    for head in ("ACC (points)", "BWT (points)"):
        table.add_column(head, justify="right", no_wrap=True)
    before: Pair | None = None
    for pair in found.pairs:
        is_new = before is None or pair.first != before.first
        if is_new:
            table.add_section()
        name = Text(group_name(pair.first) if is_new else "")
        table.add_row(name, Text(group_name(pair.second)), _value(pair.acc), _value(pair.bwt))
        before = pair
    chance = by_chance(found.n_intervals)
    table.caption = f"mean ± half of its interval; * clear of zero\n{chance}"
    return table


def _value(value: Difference) -> Text:
    """A difference that is in line with the others, whether it has a star or not."""
    text = short_difference(value)
    return Text(text, style="bold") if value.is_clear else Text(f"{text}  ")


def _counted(trials: Sequence[TrialRecord]) -> dict[str, int]:
    states = [trial.state for trial in trials]
    return {state: states.count(state) for state in dict.fromkeys(states)}


def print_lines(console: Console, lines: Sequence[str]) -> None:
    """Print paths, links and commands as they are, to be copied."""
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False, markup=False, emoji=False)
