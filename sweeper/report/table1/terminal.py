"""The table on a terminal, in as many parts as its width asks for."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from sweeper.report.table1.cells import Table
from sweeper.report.table1.heading import TITLE, about
from sweeper.report.table1.words import Look, Words, raised, words

_WIDTH = 15  # of a cell
_RULES = 12  # what the two heads on the left take beside the longest label
_STYLES: dict[Look, str] = {"better": "deep_sky_blue1", "worse": "dark_orange", "alike": "dim"}


def show(table: Table, console: Console) -> None:
    """Print the table, with what stands above and below it."""
    console.print(Text(TITLE, style="bold"))
    for text in about(table):
        console.print(Text(text))
    for grid in grids(table, console.width):
        console.print(grid)
    for number, text in enumerate(table.notes, start=1):
        console.print(Text(f"{raised(number)} {text}", style="dim"))
    for text in table.left_out:
        console.print(Text(f"Not in the table: {text}", style="yellow"))


def grids(table: Table, width: int) -> Iterator[Grid]:
    """The table with all columns side by side if there is room, else in parts of a few columns."""
    rows = words(table)
    n_columns, label = len(rows[0]), max(len(row[0].entry.row.label) for row in rows)
    step = max(1, min(n_columns, (width - label - _RULES) // (_WIDTH + 3)))
    for start in range(0, n_columns, step):
        yield _grid([row[start : start + step] for row in rows])


def _grid(rows: Sequence[Sequence[Words]]) -> Grid:
    grid = Grid(show_lines=True)
    grid.add_column("in %", no_wrap=True)
    grid.add_column("", style="dim", no_wrap=True)
    for cell in rows[0]:
        grid.add_column(Text(cell.entry.column.label), justify="right", min_width=_WIDTH)
    for row in rows:
        height = max(2 if cell.acc else len(_why(cell)) for cell in row)
        is_known = any(cell.acc for cell in row)
        label = Text(row[0].entry.row.label, style="bold")
        grid.add_row(label, _legend(row, height, is_known), *(_cell(c, height) for c in row))
    return grid


def _legend(row: Sequence[Words], height: int, is_known: bool) -> str:
    """What the lines of a row are."""
    head = ["ACC", "BWT"] if is_known else []
    has_paper = any(cell.paper for cell in row)
    below = ["paper", "diff."] if has_paper else []
    tail = [*below, "from"] if is_known else below[:1]
    return "\n".join([*head, *[""] * (height - len(head)), *tail])


def _cell(cell: Words, height: int) -> Text:
    lines = _top(cell)
    lines += [Text()] * (height - len(lines))
    if cell.paper:
        style = "dim strike" if cell.entry.paper and cell.entry.paper.is_slip else "dim"
        paper = Text(" / ".join(cell.paper), style=style)
        lines.append(Text.assemble(paper, (raised(cell.paper_note), "yellow")))
    if cell.acc:
        lines += [_differences(cell)] if cell.paper else []
        lines += [Text(text, style="dim") for text in cell.basis.split(", ")]
    if cell.orders:
        n_orders, acc, bwt = cell.orders
        lines += [Text(n_orders, style="dim"), Text(acc), Text(bwt)]
    return Text("\n").join(lines)


def _top(cell: Words) -> list[Text]:
    """Our numbers, or why there are none."""
    if not cell.acc:
        return [Text(text, style="yellow") for text in _why(cell)]
    style = "bold" if cell.is_leader else ""
    acc = Text.assemble((cell.acc, style), (raised(cell.note), "yellow"))
    return [acc, Text(cell.bwt)]


def _why(cell: Words) -> list[str]:
    return wrap(cell.missing + raised(cell.note), _WIDTH)


def _differences(cell: Words) -> Text:
    parts = [Text(part.text, style=_STYLES[part.look]) for part in cell.differences]
    return Text(" / ").join(parts) if parts else Text("none")
