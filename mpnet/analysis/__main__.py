"""Figures of trained runs: `python -m mpnet.analysis cdf RUN_FOLDER`."""

import argparse
import logging
import sys
from pathlib import Path

from rich.console import Console
from rich.logging import RichHandler

from mpnet.analysis import ANALYSES, analyse, flag
from mpnet.command_line import new_parser
from mpnet.errors import ConfigError, DataMissing

EXAMPLES = """examples:
  python -m mpnet.analysis cdf runs/mp-0
  python -m mpnet.analysis prune runs/mp-0 runs/mp-1 runs/bbb-0 runs/plain-0 --output figures
  python -m mpnet.analysis calibration runs/mp-* --split test
  python -m mpnet.analysis ood runs/mp-0 --against fashion_mnist
  python -m mpnet.analysis spread runs/ppbi-0
  python -m mpnet.analysis removal runs/mp-0 --kind shift --task 1

A run folder is what `python -m mpnet FILE.yaml --output FOLDER` leaves; runs that differ in their
seed alone are shown together. Each command writes a PNG, an SVG and the data as CSV.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, load, analyse, write; print a summary and where the files are."""
    options = vars(_parser().parse_args(arguments))
    console = Console()
    logging.basicConfig(format="%(message)s", handlers=[RichHandler(console=console)])
    command, folders = options.pop("command"), options.pop("runs")
    output = options.pop("output") or folders[0] / "analysis"
    try:
        analyse(command, folders, output, console, **options)
    except (ConfigError, DataMissing) as error:
        Console(stderr=True).print(str(error), style="red", markup=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        console.print("Stopped; nothing was written.", style="yellow")
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = new_parser(
        "python -m mpnet.analysis",
        "Show what a trained network is certain of, and what that is good for.",
        EXAMPLES,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in ANALYSES:
        member = ANALYSES[name]
        command = commands.add_parser(name, help=member.about, description=member.about)
        many = "+" if member.takes_several else 1
        command.add_argument("runs", nargs=many, type=Path, metavar="RUN_FOLDER")
        help_split = "what to judge on (default: what the run was judged on)"
        command.add_argument("--split", choices=["validation", "test"], help=help_split)
        help_output = "folder for files (default: RUN_FOLDER/analysis)"
        command.add_argument("--output", type=Path, help=help_output)
        for option, default in member.options.items():
            command.add_argument(flag(option), default=default, help=f"(default: {default})")
    return parser


if __name__ == "__main__":
    sys.exit(main())
