"""`sweeper table`: the paper's Table I from all sweeps below a folder."""

from pathlib import Path

from mpnet.command_line import new_parser
from sweeper.commands._words import plain_console, run_on_folder

DEFAULT = Path("sweeps/table1")
SUMMARY = "Fill the paper's Table I from all sweeps below a folder, ours beside the paper's."
EXAMPLES = """examples:
  {prog}
  {prog} sweeps

Shows the table and writes table1.html, table1.md, table1.csv and table1.tex into the folder, while
sweeps run as well as after them.
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper table") -> int:
    """Parse, collect, write, print."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    text = f"with sweeps at any depth (default: {DEFAULT})"
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT, help=text)
    return run_on_folder(parser, arguments, _write)


def _write(folder: Path) -> None:
    from sweeper.report.table1.writing import write  # seconds: not for --help

    write(folder, plain_console())
