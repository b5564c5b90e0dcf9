"""What stands above the table: the protocol behind it, and every departure from the paper's."""

from collections.abc import Sequence

from sweeper.report.table1.cells import Table, TableEntry
from sweeper.report.table1.paper import BATCH_SIZE, COLUMNS, EPOCHS
from sweeper.results.texts import counted

TITLE = "Table I, ours beside the paper's"
PROTOCOL = f"the paper's protocol ({EPOCHS} epochs, batch {BATCH_SIZE})"


def about(table: Table) -> list[str]:
    """What stands above the table, a sentence each."""
    printed = [entry for entry in table.cells if entry.paper]
    n_filled = sum(entry.acc is not None for entry in printed)
    filled = f"{n_filled} of the paper's {len(printed)} cells have test results of ours"
    return [
        *protocol(table),
        f"Mean ± sample deviation over {seeds(table)}; {filled}.",
    ]


def protocol(table: Table) -> list[str]:
    """What the runs behind the table have in common with the paper's, a sentence each."""
    swept = [entry for entry in table.cells if entry.folder]
    texts = dict.fromkeys(text for entry in swept for text in entry.departures)
    if not texts:
        return [f"{PROTOCOL[0].upper()}{PROTOCOL[1:]}."] if swept else []
    found = [f"{text}: {_where(text, swept)}." for text in texts]
    faithful = any(not entry.departures for entry in swept)
    rest = [f"All other cells: {PROTOCOL}."] if faithful else []
    return [f"Not {PROTOCOL}; the comparison is a rough one.", *found, *rest]


def seeds(table: Table) -> str:
    """Over how many test seeds the means are."""
    numbers = sorted({entry.acc.n for entry in table.results if entry.acc})
    if not numbers:
        return "no test results yet"
    return counted(numbers[0], "test seed") if len(numbers) == 1 else _range(numbers)


def _range(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]} test seeds"


def _where(departure: str, swept: Sequence[TableEntry]) -> str:
    """The columns that a departure concerns; with the rows, unless it concerns all of one."""
    if len({entry.column for entry in swept}) == len(COLUMNS) and all(
        departure in entry.departures for entry in swept
    ):
        return "all columns"
    columns = [[entry for entry in swept if entry.column == column] for column in COLUMNS]
    return "; ".join(filter(None, (_where_in_column(departure, column) for column in columns)))


def _where_in_column(departure: str, column: Sequence[TableEntry]) -> str:
    inside = [entry.row.label for entry in column if departure in entry.departures]
    outside = [entry.row.label for entry in column if departure not in entry.departures]
    if not inside:
        return ""
    few = f" except {', '.join(outside)}" if outside else ""
    rows = few if len(outside) < len(inside) else f", only {', '.join(inside)}"
    return f"{column[0].column.label}{rows}"
