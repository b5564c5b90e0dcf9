"""`sweeper report`: write the report of a sweep into its folder."""

from pathlib import Path

from rich.console import Console

from sweeper.commands._words import new_parser, run_on_folder
from sweeper.report.terminal import print_lines

SUMMARY = "Say what came out of a sweep, while it runs or after it."
EXAMPLES = """examples:
  {prog} sweeps/ppbi_split_mnist

Writes report.html (one page that needs no network), report.md, trials.csv and the sweep with all
overrides as NAME.yaml into its folder, and differences.svg if it compares groups (select.each).
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper report") -> int:
    """Parse, read, render, write; print where."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    return run_on_folder(parser, arguments, _write)


def _write(folder: Path) -> None:
    from mpnet.environment import environment  # seconds: not for --help
    from sweeper.ledger import open_ledger
    from sweeper.report.rendering import render
    from sweeper.tracking import run_links

    ledger, about = open_ledger(folder), {**environment(), "folder": str(folder.resolve())}
    links = run_links(ledger.tracking_uri or "", ledger.sweep.name, ledger.sweep_id)
    paths = render(ledger.facts(), about, links).write(folder)
    print_lines(Console(), [str(path) for path in paths])
