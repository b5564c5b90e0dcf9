"""`sweeper list`: all sweeps below a folder."""

from pathlib import Path

from mpnet.command_line import new_parser
from sweeper.commands._words import plain_console, run_on_folder
from sweeper.errors import SweepError

SUMMARY = "List all sweeps below a folder: state, trials, the best, age."
EXAMPLES = """examples:
  {prog}
  {prog} /shared/sweeps
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper list") -> int:
    """Parse, read the ledgers, print."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path("sweeps"), help="(default: sweeps)"
    )
    return run_on_folder(parser, arguments, _show)


def _show(root: Path) -> None:
    from sweeper.report.status import list_table  # seconds: not for --help

    table = list_table(root)
    if not table.row_count:
        raise SweepError(f"{root}: must hold sweeps, but none has begun there or below.")
    plain_console().print(table)
