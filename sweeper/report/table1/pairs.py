"""How differences between cells read: lines of a table, in words."""

from sweeper.report.table1.against import Pairing, Reference, pairings, references
from sweeper.report.table1.cells import Table
from sweeper.report.table1.paper import Column
from sweeper.results.comparison import CONFIDENCE
from sweeper.results.texts import NOTHING, difference

HOW_TO_READ = (
    "Mean over pairs of runs with the same seed, split, permutations and class order "
    f"[{100 * CONFIDENCE:g}% interval by Student's t]; * the interval is clear of zero. "
    "The best rival is that of EWC, SI, MAS, UCL, UCB and HAT by validation data."
)


def against(table: Table) -> list[list[str]]:
    """LRA and PPBI against what they have to be better than: column, row, other, role, figures."""
    return [[one.first.column.label, *against_words(one)] for one in pairings(table)]


def against_words(one: Pairing) -> list[str]:
    """A line without its column."""
    labels = [one.first.row.label, one.second.row.label, one.role]
    return [*labels, difference(one.acc), difference(one.bwt), str(one.acc.n)]


def alone(table: Table, column: Column) -> list[list[str]]:
    """The cells of a column against every task alone."""
    return [_alone_words(one) for one in references(table) if one.entry.column == column]


def _alone_words(one: Reference) -> list[str]:
    forward = difference(one.forward) if one.forward else NOTHING
    return [one.entry.row.label, difference(one.intransigence), forward]
