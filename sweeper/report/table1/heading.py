"""What stands above the table: the protocol behind it, and every departure from the paper's."""

from collections.abc import Sequence

from sweeper.report.table1.cells import Table, TableEntry
from sweeper.report.table1.paper import COLUMNS, Column
from sweeper.report.table1.protocol import BATCH_SIZE, EPOCHS, unequal
from sweeper.results.texts import counted

TITLE = "Table I, ours beside the paper's"
PROTOCOL = f"the paper's protocol ({EPOCHS} epochs, batch {BATCH_SIZE})"


def about(table: Table) -> list[str]:
    """What stands above the table, a sentence each."""
    printed = [entry for entry in table.cells if entry.paper]
    n_filled = sum(entry.acc is not None for entry in printed)
    filled = f"{n_filled} of the paper's {len(printed)} cells have test results of ours"
    of_what = f"Mean ± sample deviation over {seeds(table)}"
    if not table.results:
        of_what = "No test results yet"
    return [
        *protocol(table),
        *inequalities(table),
        *drawn(table),
        f"{of_what}; {filled}.",
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


def inequalities(table: Table) -> list[str]:
    """What rows of a column do not have in common, so that their comparison is unfair."""
    found: dict[str, list[Column]] = {}
    for column, swept in _columns([entry for entry in table.cells if entry.folder]).items():
        searched = [key for entry in swept for key in entry.searched]
        texts = unequal({entry.row.label: entry.run for entry in swept}, searched)
        tried = {entry.n_planned for entry in swept if entry.n_planned}
        if len(tried) > 1:
            texts.append(f"{min(tried)} to {max(tried)} configurations")
        for text in texts:
            found.setdefault(text, []).append(column)
    return [f"Not the same for all rows: {text}: {listed(on)}." for text, on in found.items()]


def drawn(table: Table) -> list[str]:
    """What the deviations hold besides that of the training, in a sentence."""
    found: dict[str, list[Column]] = {}
    for column, swept in _columns([entry for entry in table.cells if entry.folder]).items():
        names = dict.fromkeys(name for entry in swept for name in entry.reseeded)
        if names:
            text = " and ".join(name.replace("_", " ") for name in names)
            found.setdefault(text, []).append(column)
    return [
        f"Reruns draw {text} by their own seed, alike in all rows: {listed(columns)}."
        for text, columns in found.items()
    ]


def seeds(table: Table) -> str:
    """Over how many test seeds the means are."""
    numbers = sorted({entry.acc.n for entry in table.results if entry.acc})
    if not numbers:
        return "no test results yet"
    return counted(numbers[0], "test seed") if len(numbers) == 1 else _range(numbers)


def _range(numbers: Sequence[int]) -> str:
    return f"{numbers[0]} to {numbers[-1]} test seeds"


def _where(departure: str, swept: Sequence[TableEntry]) -> str:
    """The columns that a departure concerns; with the rows, unless it concerns all of them."""
    found: dict[str, list[Column]] = {}
    for column, entries in _columns(swept).items():
        inside = [entry.row.label for entry in entries if departure in entry.departures]
        outside = [entry.row.label for entry in entries if departure not in entry.departures]
        few = f" (except {', '.join(outside)})" if outside else ""
        rows = few if len(outside) < len(inside) else f" (only {', '.join(inside)})"
        if inside:
            found.setdefault(rows, []).append(column)
    return "; ".join(f"{listed(columns)}{rows}" for rows, columns in found.items())


def _columns(swept: Sequence[TableEntry]) -> dict[Column, list[TableEntry]]:
    columns = {column: [e for e in swept if e.column == column] for column in COLUMNS}
    return {column: entries for column, entries in columns.items() if entries}


def listed(columns: Sequence[Column]) -> str:
    """Columns by their heads; all of them in two words."""
    labels = [column.label for column in columns]
    return "all columns" if len(labels) == len(COLUMNS) else ", ".join(labels)
