"""The table as a page, as Markdown and as CSV."""

import csv
import io
from typing import Any

from sweeper.report.table1.cells import Table, TableEntry
from sweeper.report.table1.heading import TITLE, about
from sweeper.report.table1.pairs import HOW_TO_READ, against
from sweeper.report.table1.paper import COLUMNS
from sweeper.report.table1.words import Words, raised, words
from sweeper.report.templates import file_text, in_markdown, jinja_environment
from sweeper.results.tested import Measured

_CSV_HEAD = (
    *("row", "method", "measure", "column", "benchmark", "n_tasks"),
    *("acc", "acc_deviation", "bwt", "bwt_deviation", "seeds", "seeds_planned"),
    *("trials_finished", "trials_planned", "paper_acc", "paper_bwt", "paper_is_slip"),
    *("acc_difference", "bwt_difference", "missing", "departures", "sweep", "remarks"),
    *("orders_acc", "orders_acc_deviation", "orders_bwt", "orders_bwt_deviation", "orders"),
)


def html(table: Table) -> str:
    """One page that needs nothing else."""
    css = file_text("page.css") + file_text("table1/page.css")
    return jinja_environment().get_template("table1/page.html").render(**_context(table), css=css)


def markdown(table: Table) -> str:
    """The same, a line of the table for each method."""
    rows = [[_cell_in_markdown(cell) for cell in row] for row in words(table)]
    template = jinja_environment().get_template("table1/page.md")
    return template.render(**_context(table), cells=rows, raised=raised)


def csv_text(table: Table) -> str:
    """One line per cell, as measured: fractions, empty where nothing is known."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_CSV_HEAD)
    writer.writerows(_csv_line(entry) for entry in table.cells)
    return buffer.getvalue()


def _context(table: Table) -> dict[str, Any]:
    return {
        "title": TITLE,
        "about": about(table),
        "n_sweeps": len({entry.folder for entry in table.cells if entry.folder}),
        "columns": COLUMNS,
        "rows": words(table),
        "notes": table.notes,
        "has_orders": any(entry.orders for entry in table.cells),
        "left_out": table.left_out,
        "against": against(table),
        "how_to_read": HOW_TO_READ,
    }


def _cell_in_markdown(cell: Words) -> str:
    paper = f"paper {' / '.join(cell.paper)}{raised(cell.paper_note)}" if cell.paper else ""
    differences = " / ".join(part.text for part in cell.differences)
    acc = f"**{cell.acc}**" if cell.is_leader else cell.acc
    ours = [f"{acc}{raised(cell.note)}", f"BWT {cell.bwt}"] if cell.acc else []
    missing = f"*{in_markdown(cell.missing)}*{raised(cell.note)}" if cell.missing else ""
    difference = f"diff. {differences}" if differences else ""
    orders = "{}: {} / BWT {}".format(*cell.orders) if cell.orders else ""
    below = [paper, difference, cell.basis, orders]
    return "<br>".join(filter(None, [*ours, missing, *below]))


def _csv_line(entry: TableEntry) -> list[object]:
    acc, bwt, paper = entry.acc, entry.bwt, entry.paper
    orders = _numbers(entry.orders.acc, entry.orders.bwt) if entry.orders else [""] * 5
    ours = _numbers(acc, bwt) if acc and bwt else [""] * 5
    printed = [paper.acc, paper.bwt, int(paper.is_slip)] if paper else [""] * 3
    return [
        *(*entry.row, *entry.column),
        *(*ours, entry.n_seeds or ""),
        *(entry.n_finished, entry.n_planned, *printed),
        *(entry.differences or ("", "")),
        *(entry.missing, "; ".join(entry.departures), entry.folder),
        "; ".join(filter(None, [entry.remark, entry.paper_remark])),
        *orders,
    ]


def _numbers(acc: Measured, bwt: Measured) -> list[object]:
    return [acc.mean, acc.deviation, bwt.mean, bwt.deviation, acc.n]
