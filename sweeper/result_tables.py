"""What came out on the test sets, as tables for a terminal: configurations, or groups of them."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from sweeper.comparison import Comparison, Pair, compare
from sweeper.facts import facts_of
from sweeper.records import TrialRecord
from sweeper.sweep import Sweep
from sweeper.texts import by_chance, difference, group_name, in_line, percent
from sweeper.view import test_table


def result_tables(
    sweep: Sweep, trials: Sequence[TrialRecord], tests: Sequence[TrialRecord]
) -> list[Table]:
    """Differences of groups, then the groups, where a sweep has some; nothing before a rerun."""
    if not tests:
        return []
    if not sweep.select.each:
        return [test_table(tests)]
    found = compare(facts_of(sweep, trials, tests))
    return [*([pair_table(found)] if found.pairs else []), group_table(found)]


def group_table(found: Comparison) -> Table:
    """A line per group: what its best trial on validation data does on the test sets."""
    table = Table(title="The best of each group, on the test sets", title_justify="left")
    table.add_column("group")
    for name in ("ACC", "BWT", "seeds", "trial"):
        table.add_column(name, justify="right")
    table.add_column("configuration", overflow="fold")
    for member in found.members:
        name, result = Text(group_name(member.group)), member.rerun
        if result is None:
            table.add_row(name, Text(member.missing, style="yellow"))
            continue
        reached = percent(result.acc), percent(result.bwt, is_signed=True), str(result.acc.n)
        style = "bold green" if member.group == found.best else None
        settings = Text(in_line(member.settings))
        table.add_row(name, *reached, str(result.configuration), settings, style=style)
    return table


def pair_table(found: Comparison) -> Table:
    """A line per pair; those with the same first group stand together."""
    table = Table(title="Differences on the test sets, seed by seed", title_justify="left")
    table.add_column("group")
    table.add_column("less")
    for name in ("ACC (points)", "BWT (points)", "seeds"):
        table.add_column(name, justify="right")
    before: Pair | None = None
    for pair in found.pairs:
        is_new = before is None or pair.first != before.first
        if is_new:
            table.add_section()
        name = Text(group_name(pair.first) if is_new else "")
        values = [_value(text) for text in (difference(pair.acc), difference(pair.bwt))]
        table.add_row(name, Text(group_name(pair.second)), *values, str(pair.acc.n))
        before = pair
    table.caption = f"* clear of zero; {by_chance(found.n_intervals)}"
    return table


def _value(text: str) -> Text:
    """In line with the others, whether it has a star or not."""
    return Text(text, style="bold") if text.endswith("*") else Text(f"{text}  ")
