"""What all commands say alike."""

import argparse

from rich.console import Console
from rich.text import Text


def print_error(error: Exception) -> int:
    """Show what a user can mend, as it is; gives the exit code."""
    text = Text(str(error), style="red")
    Console(stderr=True).print(text, soft_wrap=True)
    return 2


def new_parser(prog: str, summary: str, examples: str) -> argparse.ArgumentParser:
    """A parser whose help ends with examples."""
    return argparse.ArgumentParser(
        prog=prog,
        description=summary,
        epilog=examples.format(prog=prog),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
