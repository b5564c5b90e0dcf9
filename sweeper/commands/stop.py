"""`sweeper stop`: asked of the driver of a sweep, wherever it runs."""

from mpnet.command_line import new_parser
from sweeper.commands._words import ask_driver

SUMMARY = "Stop a sweep that runs in another shell, as Ctrl-C there would; or one of its trials."
EXAMPLES = """examples:
  {prog} sweeps/quickstart
  {prog} sweeps/quickstart --trial 4

No signal is sent: the request is a line in the folder of the sweep, so any machine that sees it
will do. Nothing is lost; the command that started the sweep goes on with --resume.
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper stop") -> int:
    """Parse, ask, print the answer."""
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument(
        "--trial", type=int, metavar="N", help="stop only this one: it is over, and cannot win"
    )
    return ask_driver(parser, arguments, "stop")
