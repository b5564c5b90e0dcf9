"""`sweeper status`: how a sweep is doing, from its folder."""

from pathlib import Path

from mpnet.command_line import new_parser
from sweeper.commands._words import plain_console, run_on_folder

SUMMARY = "Show how a sweep is doing, while it runs or after it, from any machine."
EXAMPLES = """examples:
  {prog} sweeps/quickstart
  {prog} sweeps/table1

Running trials with task, epoch and ACC so far, what failed and why, the ranking, links. The folder
of a queue has a line for each of its sweeps.
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper status") -> int:
    """Parse, read the ledger and what its driver says, print."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    return run_on_folder(parser, arguments, _show)


def _show(folder: Path) -> None:
    from sweeper.ledger import JOURNAL  # seconds: not for --help
    from sweeper.report.status import list_table, show_status, sweeps_below

    if not (folder / JOURNAL).exists() and sweeps_below(folder):
        plain_console().print(list_table(folder))
    else:
        show_status(plain_console(), folder)
