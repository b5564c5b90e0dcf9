"""Write the report of a sweep into its folder."""

import argparse
import sys
from pathlib import Path

from sweeper.environment import environment
from sweeper.errors import SweepError
from sweeper.report import Report, render

EXAMPLES = """example:
  python -m sweeper.report sweeps/ppbi_split_mnist

Writes report.html (one page that needs no network), report.md and trials.csv into the folder,
while a sweep runs as well as after it.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, read, render, write; print where."""
    folder: Path = _parser().parse_args(arguments).folder
    try:
        report = _report(folder)
    except SweepError as error:
        print(error, file=sys.stderr)
        return 2
    for path in report.write(folder):
        print(path)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sweeper.report",
        description="Say what came out of a sweep: a page, Markdown and a table of all trials.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    return parser


def _report(folder: Path) -> Report:
    if not folder.is_dir():
        raise SweepError(f"{folder}: the output folder of a sweep must be there, but is not.")
    from sweeper.ledger import open_ledger  # seconds: not for --help

    ledger = open_ledger(folder)
    about = {**environment(), "folder": str(folder.resolve())}
    return render(ledger.sweep, ledger.records(), ledger.test_records(), about)


if __name__ == "__main__":
    sys.exit(main())
