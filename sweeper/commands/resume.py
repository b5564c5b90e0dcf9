"""`sweeper resume`: asked of the driver of a sweep, wherever it runs."""

from mpnet.command_line import new_parser
from sweeper.commands._words import ask_driver

SUMMARY = "Go on with a sweep that was paused."
EXAMPLES = """examples:
  {prog} sweeps/quickstart
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper resume") -> int:
    """Parse, ask, print the answer."""
    return ask_driver(new_parser(prog, SUMMARY, EXAMPLES), arguments, "resume")
