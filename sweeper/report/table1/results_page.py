"""The page of results: what came out, what it cost, what it says, where each number is from."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from sweeper.report.table1 import pairs
from sweeper.report.table1.against import pairings
from sweeper.report.table1.cells import Table, TableEntry
from sweeper.report.table1.claims import CLAIMS, MARGIN, Claim, Evidence, evidence
from sweeper.report.table1.heading import about, listed
from sweeper.report.table1.paper import COLUMNS, Column
from sweeper.report.table1.words import Words, raised, words
from sweeper.report.templates import jinja_environment
from sweeper.results.texts import (
    NOTHING,
    configuration_words,
    counted,
    difference,
    in_points,
    test_words,
)


def results_page(table: Table, root: str) -> str:
    """The page as Markdown.

    Args:
        table: of all sweeps that are there.
        root: the folder that they lie in, as a command from the root of the repository has it.
    """
    swept = [column for column in COLUMNS if _entries(table, column)]
    return (
        jinja_environment()
        .get_template("table1/results.md")
        .render(
            root=root,
            about=about(table),
            hours=_hours(sum(entry.seconds for entry in table.cells)),
            columns=[_column(table, column) for column in swept],
            missing=[column.label for column in COLUMNS if column not in swept],
            how_to_read=pairs.HOW_TO_READ,
            claims=[line for claim in CLAIMS for line in _claim_lines(claim, table)],
            margin=in_points(MARGIN),
            sources=[_source(entry, root) for entry in table.cells if entry.folder],
            notes=[f"{raised(place)} {text}" for place, text in enumerate(table.notes, start=1)],
            left_out=table.left_out,
        )
    )


def run_words(entry: TableEntry, root: Path | str, seed: int) -> list[str]:
    """The command that reruns the chosen configuration of a cell on the test sets with a seed."""
    assert entry.best is not None
    file = str(sweep_file(entry, root))
    return [*configuration_words(file, entry.best), *test_words(seed, entry.reseeded)]


def sweep_file(entry: TableEntry, root: Path | str) -> Path:
    """Where the sweep of a cell stands as a file."""
    assert entry.sweep is not None
    return Path(root) / entry.folder / f"{entry.sweep.name}.yaml"


def _entries(table: Table, column: Column) -> list[TableEntry]:
    return [entry for entry in table.cells if entry.column == column and entry.folder]


def _column(table: Table, column: Column) -> dict[str, Any]:
    lines = [cell for row in words(table) for cell in row if cell.entry.column == column]
    of_ours = [one for one in pairings(table) if one.first.column == column]
    return {
        "label": column.label,
        "printed": [_line(cell) for cell in lines if cell.paper],
        "own": [_line(cell) for cell in lines if not cell.paper and cell.entry.folder],
        "against": [pairs.against_words(one) for one in of_ours],
        "alone": pairs.alone(table, column),
    }


def _line(cell: Words) -> list[str]:
    entry, printed = cell.entry, " / ".join(cell.paper) + raised(cell.paper_note)
    acc = f"**{cell.acc}**" if cell.is_leader else cell.acc
    differences = " / ".join(part.text for part in cell.differences)
    return [
        entry.row.label,
        f"{acc or NOTHING}{raised(cell.note)}",
        cell.bwt or NOTHING,
        str(entry.acc.n if entry.acc else 0),
        str(entry.n_finished) if entry.folder else NOTHING,
        printed or NOTHING,
        differences or NOTHING,
        _hours(entry.seconds) if entry.folder else NOTHING,
        entry.missing,
    ]


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2f}"


def _claim_lines(claim: Claim, table: Table) -> Iterator[list[str]]:
    """A line for each verdict of a claim, the columns that share one together."""
    found = sorted(evidence(claim, table), key=lambda one: one.verdict == "not tested")
    for is_untested, some in groupby(found, lambda one: one.verdict == "not tested"):
        if is_untested:
            yield [_claimed(claim), listed([one.column for one in some]), "not tested", ""]
        else:
            yield from ([_claimed(claim), *_evidence_words(one)] for one in some)


def _claimed(claim: Claim) -> str:
    return f"{claim.text} ({claim.metric.upper()})" if claim.metric != "acc" else claim.text


def _evidence_words(one: Evidence) -> list[str]:
    assert one.difference is not None
    text = f"{' less '.join(one.pair)}: {difference(one.difference)}"
    return [one.column.label, one.verdict, f"{text}, {counted(one.difference.n, 'pair')}"]


def _source(entry: TableEntry, root: str) -> list[str]:
    """Where a cell's numbers come from, and the command of its first rerun."""
    place = [entry.row.label, entry.column.label, f"`{root}/{entry.folder}`"]
    if entry.best is None:
        return [*place, NOTHING, NOTHING, entry.missing]
    seed = entry.reruns[0].rerun.seed if entry.reruns else max(entry.best.seeds, default=0) + 1
    command = shlex.join(["./run", *run_words(entry, root, seed)])
    return [*place, str(entry.best.number), _commits(entry) or NOTHING, f"`{command}`"]


def _commits(entry: TableEntry) -> str:
    records: Sequence[Any] = [*([entry.best] if entry.best else []), *entry.reruns]
    found = dict.fromkeys(r.versions["commit"] for r in records if "commit" in r.versions)
    return ", ".join(found)
