"""`sweeper table`: the paper's Table I from all sweeps below a folder."""

from pathlib import Path

from mpnet.command_line import new_parser
from sweeper.commands._words import plain_console, print_error
from sweeper.errors import SweepError
from sweeper.report.terminal import print_lines

DEFAULT = Path("sweeps/table1")
SUMMARY = "Fill the paper's Table I from all sweeps below a folder, ours beside the paper's."
EXAMPLES = """examples:
  {prog}
  {prog} sweeps
  {prog} results --page docs/results.md

Shows the table and writes table1.html, table1.md, table1.csv and table1.tex into the folder, while
sweeps run as well as after them.

--page writes a page of results instead: by column, with intervals, controls, costs, what it says
of the paper's claims, and the command behind each number. Each sweep becomes a file beside its
ledger, which these commands name. `sweeper report --verify` recomputes all of it.
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper table") -> int:
    """Parse, collect, write, print."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    text = f"with sweeps at any depth (default: {DEFAULT})"
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT, help=text)
    text = "the page to write; what stands around its numbers stays"
    parser.add_argument("--page", type=Path, metavar="FILE", help=text)
    options = parser.parse_args(arguments)
    try:
        _write_page(options.folder, options.page) if options.page else _write(options.folder)
    except SweepError as error:
        return print_error(error)
    return 0


def _write(folder: Path) -> None:
    from sweeper.report.table1.writing import write  # seconds: not for --help

    write(folder, plain_console())


def _write_page(folder: Path, page: Path) -> None:
    from sweeper.report.published import with_results  # seconds: not for --help

    if not page.parent.is_dir():
        raise SweepError(f"--page {page}: must lie in a folder that is there.")
    for one in with_results(page, folder):
        one.path.write_text(one.computed, encoding="utf-8")
        print_lines(plain_console(), [str(one.path)])
