"""`sweeper report`: write the report of a sweep into its folder."""

from pathlib import Path

from mpnet.command_line import new_parser
from sweeper.commands._words import plain_console, print_error
from sweeper.errors import SweepError
from sweeper.report.terminal import print_lines

SUMMARY = "Say what came out of a sweep, while it runs or after it."
EXAMPLES = """examples:
  {prog} sweeps/ppbi_split_mnist
  {prog} --verify results
  {prog} sweeps/short/ppbi.split_mnist_5 --against sweeps/long/ppbi.split_mnist_5

Writes report.html (one page that needs no network), report.md, trials.csv and the sweep with all
overrides as NAME.yaml into its folder, and differences.svg if it compares groups (select.each).

--publish and --verify take a folder of sweeps. Its pages, and those of docs/ beside it, quote
sweeps between comments: `<!-- results: SWEEP groups -->` and `<!-- end -->` (or members, without
differences; tests; table1 or page for a folder of sweeps; `SHORT LONG fidelity`). --publish writes
their numbers, --verify fails where one is another.

--against compares the same configurations with two budgets: the rank correlation of their orders,
and how far the winner moves.
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper report") -> int:
    """Parse, read, render, write; print where."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    quoted = parser.add_mutually_exclusive_group()
    text = "recompute every number that pages quote from the sweeps below SWEEP"
    quoted.add_argument("--verify", action="store_true", help=f"{text}; code 1 if any differs")
    quoted.add_argument("--publish", action="store_true", help=f"{text}, and write them")
    text = "another sweep over the same configurations, usually a longer one; writes nothing"
    quoted.add_argument("--against", type=Path, metavar="LONG", help=text)
    options = parser.parse_args(arguments)
    act = _verify if options.verify else _publish if options.publish else _write
    try:
        if options.against:
            return _compare(options.folder, options.against)
        return act(options.folder)
    except SweepError as error:
        return print_error(error)


def _compare(short: Path, long: Path) -> int:
    from sweeper.ledger import open_ledger  # seconds: not for --help
    from sweeper.report.fidelity import markdown

    facts = [open_ledger(folder).facts() for folder in (short, long)]
    print_lines(plain_console(), [markdown(*facts)])
    return 0


def _verify(folder: Path) -> int:
    from sweeper.report.published import published  # seconds: not for --help

    pages, console = published(folder), plain_console()
    differences = [line for page in pages for line in page.differences]
    right = [f"{page.path}: as the ledgers say" for page in pages if not page.differences]
    print_lines(console, [*right, *differences])
    return int(bool(differences))


def _publish(folder: Path) -> int:
    from sweeper.report.published import published  # seconds: not for --help

    for page in published(folder):
        page.path.write_text(page.computed, encoding="utf-8")
        print_lines(plain_console(), [str(page.path)])
    return 0


def _write(folder: Path) -> int:
    from mpnet.environment import environment  # seconds: not for --help
    from sweeper.ledger import open_ledger
    from sweeper.report.rendering import render
    from sweeper.tracking import run_links

    ledger, about = open_ledger(folder), {**environment(), "folder": str(folder.resolve())}
    links = run_links(ledger.tracking_uri or "", ledger.sweep.name, ledger.sweep_id)
    paths = render(ledger.facts(), about, links).write(folder)
    print_lines(plain_console(), [str(path) for path in paths])
    return 0
