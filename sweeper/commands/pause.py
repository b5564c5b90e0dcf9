"""`sweeper pause`: asked of the driver of a sweep, wherever it runs."""

from mpnet.command_line import new_parser
from sweeper.commands._words import ask_driver

SUMMARY = "Start nothing new in a sweep that runs in another shell; what runs comes to its end."
EXAMPLES = """examples:
  {prog} sweeps/quickstart
  sweeper resume sweeps/quickstart
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper pause") -> int:
    """Parse, ask, print the answer."""
    return ask_driver(new_parser(prog, SUMMARY, EXAMPLES), arguments, "pause")
