"""`sweeper status`: how a sweep is doing, from its folder."""

from pathlib import Path

from rich.console import Console

from sweeper.commands._words import new_parser, run_on_folder

SUMMARY = "Show how a sweep is doing, while it runs or after it."
EXAMPLES = """examples:
  {prog} sweeps/quickstart
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper status") -> int:
    """Parse, read the ledger, print."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    return run_on_folder(parser, arguments, _show)


def _show(folder: Path) -> None:
    from sweeper.ledger import open_ledger  # seconds: not for --help
    from sweeper.report.terminal import print_lines, show_outcome

    ledger = open_ledger(folder)
    show_outcome(Console(), ledger.facts())
    print_lines(Console(), ledger.places)
