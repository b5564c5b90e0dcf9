"""The paper's Table I for all sweeps below a folder: terminal, HTML, Markdown, CSV, LaTeX."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import track

from sweeper.errors import SweepError
from sweeper.ledger import JOURNAL, open_ledger
from sweeper.report.table1.cells import SweepHistory, Table, table_of
from sweeper.report.table1.latex import latex
from sweeper.report.table1.tables import csv_text, html, markdown
from sweeper.report.table1.terminal import show
from sweeper.report.terminal import print_lines
from sweeper.results.texts import shell_command


def write(folder: Path, console: Console) -> None:
    """Collect the sweeps below a folder, write the four files there, print the table.

    Raises:
        SweepError: there is no such folder, or no sweep below it.
    """
    table = collected(folder, console)
    forms = files(table)
    for name, text in forms.items():
        (folder / name).write_text(text, encoding="utf-8")
    show(table, console)
    print_lines(console, [str(folder / name) for name in forms])


def files(table: Table) -> dict[str, str]:
    """The text of each file by its name."""
    return {
        "table1.html": html(table),
        "table1.md": markdown(table),
        "table1.csv": csv_text(table),
        "table1.tex": latex(table),
    }


def collected(folder: Path, console: Console) -> Table:
    """The table of all sweeps below a folder; those that cannot be read are named in it.

    Raises:
        SweepError: there is no such folder, or no sweep below it.
    """
    if not any(_sweep_folders(folder)):
        raise SweepError(_nothing(folder))
    return found(folder, console)


def found(folder: Path, console: Console) -> Table:
    """The same, of no sweeps where there are none."""
    sweeps, left_out = [], []
    for place in _watched(sorted(_sweep_folders(folder)), console):
        try:
            sweeps.append(_history(place, folder))
        except SweepError as error:
            left_out.append(str(error).removesuffix("."))
    return table_of(sweeps, left_out)


def _watched(places: list[Path], console: Console) -> Iterable[Path]:
    """The same places, with a progress bar on a terminal: a journal takes up to seconds."""
    is_silent = not console.is_terminal
    return track(places, "reading sweeps", console=console, transient=True, disable=is_silent)


def _nothing(folder: Path) -> str:
    command = shell_command("python", "-m", "sweeper.launch", "search_spaces/table1/")
    got = "no sweep is there" if folder.is_dir() else "there is no such folder"
    return (
        f"{folder}: a folder with sweeps at any depth must be given, but {got}; "
        f"name another one, or fill it with `{command}`."
    )


def sweep_files(folder: Path) -> dict[Path, str]:
    """The sweeps below a folder as files that `python -m mpnet` reads, each beside its ledger."""
    ledgers = {place: open_ledger(place) for place in sorted(_sweep_folders(folder))}
    sweeps = {place: ledger.sweep for place, ledger in ledgers.items()}
    return {place / f"{sweep.name}.yaml": sweep.text for place, sweep in sweeps.items()}


def _sweep_folders(folder: Path) -> Iterator[Path]:
    """Sweeps at any depth, but none below another: a sweep keeps its trials' files in its own."""
    for place, below, names in os.walk(folder):
        if JOURNAL in names:
            below.clear()
            yield Path(place)


def _history(place: Path, folder: Path) -> SweepHistory:
    ledger = open_ledger(place)
    name = place.relative_to(folder).as_posix()
    return SweepHistory(
        name, ledger.sweep, ledger.trial_records(), ledger.rerun_records(), ledger.bound_runs
    )
