"""`sweeper status`: how a sweep is doing, from its folder."""

from pathlib import Path

from rich.console import Console

from sweeper.commands._words import new_parser, print_error
from sweeper.errors import SweepError

SUMMARY = "Show how a sweep is doing, while it runs or after it."
EXAMPLES = """examples:
  {prog} sweeps/quickstart
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper status") -> int:
    """Parse, read the ledger, print."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    folder = parser.parse_args(arguments).folder
    try:
        from sweeper.ledger import open_ledger  # seconds: not for --help
        from sweeper.report.terminal import print_lines, show_outcome
        from sweeper.results.facts import facts_of

        ledger = open_ledger(folder)
    except SweepError as error:
        return print_error(error)
    trials, tests = ledger.trial_records(), ledger.rerun_records()
    show_outcome(Console(), facts_of(ledger.sweep, trials, tests))
    print_lines(Console(), ledger.places)
    return 0
