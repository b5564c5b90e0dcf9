"""The console script `sweeper`: one command, one file."""

import sys
from importlib import import_module

from mpnet.command_line import new_parser

COMMANDS = {
    "launch": "search for the best configurations and rerun them on the test sets",
    "status": "how a sweep is doing",
    "list": "all sweeps below a folder",
    "stop": "stop a sweep that runs elsewhere, or one of its trials",
    "pause": "start nothing new in a sweep that runs elsewhere",
    "resume": "go on with a sweep that was paused",
    "report": "write the report of a sweep",
    "table": "the paper's Table I from many sweeps",
    "analysis": "figures of the runs that a sweep has kept",
}
EXAMPLES = """examples:
  {prog} launch search_spaces/quickstart.yaml
  {prog} status sweeps/quickstart
  {prog} stop sweeps/quickstart
  {prog} report sweeps/quickstart
  {prog} COMMAND --help
"""


def main(arguments: list[str] | None = None) -> int:
    """Hand the arguments to the command that they begin with."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = new_parser("sweeper", "Sweeps over continual-learning methods.", EXAMPLES)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text, add_help=False)
    chosen, rest = parser.parse_args(arguments[:1]).command, arguments[1:]
    module = import_module(f"sweeper.commands.{chosen}")
    return int(module.main(rest, f"sweeper {chosen}"))
