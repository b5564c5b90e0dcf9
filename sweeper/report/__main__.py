"""Write the report of a sweep into its folder, or the paper's table for many sweeps."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from sweeper.environment import environment
from sweeper.errors import SweepError
from sweeper.report import Report, render, table1

EXAMPLES = """examples:
  python -m sweeper.report sweeps/ppbi_split_mnist
  python -m sweeper.report --table1
  python -m sweeper.report --table1 sweeps

Writes report.html (one page that needs no network), report.md and trials.csv into the folder of a
sweep, and differences.svg if it compares groups (select.each). With --table1: shows the paper's
Table I for all sweeps below a folder, ours beside the paper's, and writes table1.html, table1.md,
table1.csv and table1.tex there. Both work while sweeps run as well as after them.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, read, render, write; print where."""
    options = _parser().parse_args(arguments)
    try:
        if options.table1:
            table1.write(options.table1, Console())
        else:
            _write_report(options.folder)
    except SweepError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sweeper.report",
        description="Say what came out of a sweep, or fill the paper's Table I from many.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "folder", nargs="?", type=Path, metavar="SWEEP", help="output folder of a sweep"
    )
    which.add_argument(
        "--table1",
        nargs="?",
        type=Path,
        const=table1.DEFAULT,
        metavar="FOLDER",
        help=f"the paper's Table I from all sweeps below FOLDER (default: {table1.DEFAULT})",
    )
    return parser


def _write_report(folder: Path) -> None:
    for path in _report(folder).write(folder):
        print(path)


def _report(folder: Path) -> Report:
    if not folder.is_dir():
        raise SweepError(f"{folder}: the output folder of a sweep must be there, but is not.")
    from sweeper.ledger import open_ledger  # seconds: not for --help

    ledger = open_ledger(folder)
    about = {**environment(), "folder": str(folder.resolve())}
    return render(ledger.sweep, ledger.records(), ledger.test_records(), about)


if __name__ == "__main__":
    sys.exit(main())
