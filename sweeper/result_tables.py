"""What came of a sweep, as tables for a terminal: reruns, their groups, what is protected."""

from collections.abc import Sequence

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from sweeper.comparison import Comparison, Difference, Pair, compare
from sweeper.facts import Facts, Protected, measured
from sweeper.ranking import finished
from sweeper.records import TrialRecord
from sweeper.texts import (
    by_chance,
    coefficient,
    group_name,
    in_line,
    percent,
    protection_warnings,
    short_difference,
    spread,
)
from sweeper.view import ranking_table


def show_outcome(console: Console, facts: Facts, tests: Sequence[TrialRecord]) -> None:
    """Print what came of a sweep so far: its ranking, its reruns, how selectively it protects."""
    console.print(ranking_table(facts.trials, facts.sweep.objective))
    for table in result_tables(facts, tests):
        console.print(table)
    if facts.best_protected:
        console.print(protection_table(facts.best_protected))


def result_tables(facts: Facts, tests: Sequence[TrialRecord]) -> list[Table]:
    """Differences of groups, then the groups, where a sweep has some; nothing before a rerun."""
    if not tests:
        return []
    if not facts.sweep.select.each:
        return [rerun_table(tests)]
    found = compare(facts)
    return [*([pair_table(found)] if found.pairs else []), group_table(found)]


def rerun_table(tests: Sequence[TrialRecord]) -> Table:
    """The reruns, one line per configuration: mean and deviation over seeds."""
    table = Table(title="The best, on the test sets", title_justify="left")
    for name in ("trial", "seeds", "ACC", "BWT"):
        table.add_column(name, justify="right")
    groups: dict[int, list[TrialRecord]] = {}
    for record in finished(tests):
        groups.setdefault(record.values["configuration"], []).append(record)
    for number, group in groups.items():
        reached = {name: measured(r.metrics[name] for r in group) for name in ("acc", "bwt")}
        cells = percent(reached["acc"]), percent(reached["bwt"], is_signed=True)
        table.add_row(str(number), str(len(group)), *cells)
    return table


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
        reached = spread(result.acc), spread(result.bwt, is_signed=True), str(result.acc.n)
        style = "bold green" if member.group == found.best else None
        settings = Text(in_line(member.settings))
        table.add_row(name, *reached, settings, style=style)
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
    """In line with the others, whether it has a star or not."""
    text = short_difference(value)
    return Text(text, style="bold") if value.is_clear else Text(f"{text}  ")
