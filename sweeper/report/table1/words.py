"""How a cell of the table reads: the words that all forms share."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

from sweeper.report.table1.against import leaders
from sweeper.report.table1.cells import Table, TableEntry
from sweeper.results.tested import Measured, OrderTested
from sweeper.results.texts import counted, in_points, spread

Look = Literal["better", "worse", "alike"]


class Difference(NamedTuple):
    """Ours less the paper's, and whether the deviation of ours would explain it ("alike")."""

    text: str
    look: Look


@dataclass(frozen=True)
class Words:
    """How a cell of the table reads.

    Args:
        is_leader: whether it is one of ours that is clearly above FT, FF and the best rival.
        acc: our mean and deviation; empty without results.
        orders: how many unseen class orders, ACC and BWT on them; empty without results.
        paper: ACC and BWT as printed; empty for a method that the paper does not have.
        basis: trials and seeds behind our numbers; empty without results.
        missing: why there are no results; empty if there are.
        note: number of the footnote on our numbers; 0 for none.
        paper_note: number of the footnote on the paper's numbers; 0 for none.
    """

    entry: TableEntry
    is_leader: bool
    acc: str
    bwt: str
    orders: tuple[str, ...]
    paper: tuple[str, ...]
    differences: tuple[Difference, ...]
    basis: str
    missing: str
    note: int
    paper_note: int


def words(table: Table) -> list[list[Words]]:
    """How all cells read, row by row."""
    numbers = {text: place for place, text in enumerate(table.notes, start=1)}
    ahead = [id(entry) for entry in leaders(table)]
    return [[_words(e, numbers, id(e) in ahead) for e in line] for line in table.entries]


def raised(number: int) -> str:
    """A footnote's number as its mark; nothing for 0."""
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")) if number else ""


def _words(entry: TableEntry, numbers: dict[str, int], is_leader: bool) -> Words:
    paper = entry.paper
    return Words(
        entry=entry,
        is_leader=is_leader,
        acc=spread(entry.acc) if entry.acc else "",
        bwt=spread(entry.bwt, is_signed=True) if entry.bwt else "",
        orders=_orders(entry.orders) if entry.orders else (),
        paper=(in_points(paper.acc), in_points(paper.bwt, is_signed=True)) if paper else (),
        differences=_differences(entry),
        basis=_basis(entry) if entry.acc else "",
        missing="" if entry.acc else entry.missing,
        note=numbers.get(entry.remark, 0),
        paper_note=numbers.get(entry.paper_remark, 0),
    )


def _orders(found: OrderTested) -> tuple[str, ...]:
    n_orders = counted(found.acc.n, "unseen order")
    return n_orders, spread(found.acc), spread(found.bwt, is_signed=True)


def _differences(entry: TableEntry) -> tuple[Difference, ...]:
    ours = (entry.acc, entry.bwt)
    pairs = zip(entry.differences or (), ours, strict=False)
    return tuple(_difference(value, our) for value, our in pairs if our)


def _difference(value: float, ours: Measured) -> Difference:
    is_alike = abs(value) <= (ours.deviation or 0.0)
    look: Look = "alike" if is_alike else "better" if value > 0 else "worse"
    return Difference(in_points(value, is_signed=True), look)


def _basis(entry: TableEntry) -> str:
    n, planned = entry.n_finished, entry.n_planned
    is_short = planned is not None and n < planned
    trials = f"{n} of {planned} trials" if is_short else counted(n, "trial")
    done = counted(entry.acc.n, "seed") if entry.acc else ""
    return f"{trials}, {entry.missing or done}"
