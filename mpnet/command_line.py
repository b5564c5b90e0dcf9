"""What the command lines of both packages have in common."""

import argparse


def new_parser(prog: str, summary: str, examples: str) -> argparse.ArgumentParser:
    """A parser whose help ends with examples, in which `{prog}` is its name."""
    return argparse.ArgumentParser(
        prog=prog,
        description=summary,
        epilog=examples.replace("{prog}", prog),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
