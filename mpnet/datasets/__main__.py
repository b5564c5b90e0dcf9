"""The doctor: which data sets are here, whether they are whole, and what to do if not."""

import argparse
import logging
import sys
from pathlib import Path

from rich import box
from rich.console import Console
from rich.logging import RichHandler
from rich.markup import escape
from rich.table import Table

from mpnet.command_line import new_parser
from mpnet.datasets._base import DATASETS, PARTS, Part, data_root, dataset
from mpnet.datasets._status import Status, status
from mpnet.errors import ConfigError
from mpnet.plugins import load_plugins

EXAMPLES = """examples:
  python -m mpnet.datasets                     what is there, at a glance
  python -m mpnet.datasets --check             read everything and compare checksums
  python -m mpnet.datasets --root /data        look in another place
  MPNET_DATA=/data python -m mpnet.datasets    likewise

The exit code is 0 if all sets are there and whole, 1 if one is missing, partial or damaged, 2 for
wrong arguments.
"""

_STATE_COLOURS = {"present": "green", "partial": "yellow", "missing": "yellow", "damaged": "red"}
_CHECKSUM_COLOURS = {"ok": "green", "differs": "red", "unknown": "dim"}


def main(arguments: list[str] | None = None) -> int:
    """Parse, look, print one table and the advice below it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    root = data_root(options.root)
    if root.exists() and not root.is_dir():
        parser.error(f"--root must be a folder, but {root} is not.")
    console = Console()
    logging.basicConfig(format="%(message)s", handlers=[RichHandler(console=console)])
    try:
        load_plugins()
        rows = [status(dataset(name), root, options.check) for name in DATASETS]
    except ConfigError as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped.", style="yellow")
        return 130
    console.print(_table(rows, root, options.check))
    for row in rows:
        if row.advice:
            console.print(f"\n{row.advice}", markup=False, highlight=False, soft_wrap=True)
    if all(row.state == "present" for row in rows):
        return 0
    where = f"\nMPNET_DATA names the folder of all data sets; here it is {root}."
    console.print(where, markup=False, highlight=False, soft_wrap=True)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = new_parser(
        "python -m mpnet.datasets",
        "Tell which data sets are on this disk, whole or not, and how to get others.",
        EXAMPLES,
    )
    parser.add_argument(
        "--check", action="store_true", help="decode every set and compare checksums (a minute)"
    )
    parser.add_argument(
        "--root", metavar="DIR", help="where the sets are; default: MPNET_DATA or ~/.cache/mpnet"
    )
    return parser


def _table(rows: list[Status], root: Path, check: bool) -> Table:
    more = "" if check else "--check compares checksums and counts all images"
    table = Table(
        title=escape(f"Data sets in {root}"),
        caption=more,
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("set", no_wrap=True)
    table.add_column("state\nchecksum", no_wrap=True)
    table.add_column("where\nsize on disk", overflow="fold")
    for part in PARTS:
        table.add_column(f"{part} images\nper class", justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: Status) -> list[str]:
    size = f"{row.size / 1e6:,.1f} MB" if row.size else ""
    checksum = f"[{_CHECKSUM_COLOURS[row.checksum]}]md5 {row.checksum}[/]" if row.places else ""
    return [
        row.name,
        f"[{_STATE_COLOURS[row.state]}]{row.state}[/]\n{checksum}".rstrip(),
        "\n".join(filter(None, [", ".join(map(escape, row.places)), size])),
        *(_count(row, part) for part in PARTS),
    ]


def _count(row: Status, part: Part) -> str:
    counts, known = row.counts.get(part), row.known.get(part)
    if counts is None:
        return "not read yet" if row.state in ("present", "partial") else ""
    whole = f" of {known:,}" if row.state == "partial" and known != counts.images else ""
    return f"{counts.images:,}{whole}\n{counts.smallest_class:,}-{counts.largest_class:,}"


if __name__ == "__main__":
    sys.exit(main())
