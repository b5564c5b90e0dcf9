"""What all commands say alike."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from sweeper.errors import SweepError

if TYPE_CHECKING:
    from sweeper.ledger.live import Action


def plain_console(stderr: bool = False) -> Console:
    """A console that shows names as they are: `:x:` and `[x]` mean nothing else here."""
    return Console(stderr=stderr, markup=False, emoji=False)


def print_error(error: Exception) -> int:
    """Show what a user can mend, as it is; gives the exit code."""
    text = Text(str(error), style="red")
    plain_console(stderr=True).print(text, soft_wrap=True)
    return 2


def run_on_folder(
    parser: argparse.ArgumentParser, arguments: list[str] | None, act: Callable[[Path], None]
) -> int:
    """Parse, act on the `folder` that was given, show what a user can mend; gives the code."""
    try:
        act(parser.parse_args(arguments).folder)
    except SweepError as error:
        return print_error(error)
    return 0


def ask_driver(
    parser: argparse.ArgumentParser, arguments: list[str] | None, action: "Action"
) -> int:
    """Ask the driver of a sweep for something, print its answer; gives the exit code."""
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    options = parser.parse_args(arguments)
    from sweeper.ledger.live import ask  # seconds: not for --help

    try:
        answer = ask(options.folder, action, getattr(options, "trial", None))
    except SweepError as error:
        return print_error(error)
    plain_console().print(Text(answer), soft_wrap=True)
    return 0
