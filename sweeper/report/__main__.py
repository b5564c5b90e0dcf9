"""Write the report of a sweep into its folder."""

import argparse
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from sweeper.errors import SweepError
from sweeper.report import Report, render

EXAMPLES = """example:
  python -m sweeper.report sweeps/ppbi_split_mnist

Writes report.html (one page that needs no network), report.md and trials.csv into the folder,
while a sweep runs as well as after it.
"""
PACKAGES = ("torch", "ray", "optuna", "mlflow", "numpy", "plotly")


def main(arguments: list[str] | None = None) -> int:
    """Parse, read, render, write; print where."""
    folder: Path = _parser().parse_args(arguments).folder
    try:
        report = _report(folder)
    except SweepError as error:
        print(error, file=sys.stderr)
        return 2
    for path in _written(folder, report):
        print(path)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sweeper.report",
        description="Say what came out of a sweep: a page, Markdown and a table of all trials.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    return parser


def _report(folder: Path) -> Report:
    if not folder.is_dir():
        raise SweepError(f"{folder}: the output folder of a sweep must be there, but is not.")
    from sweeper.ledger import open_ledger  # type: ignore[import-not-found]  # slow: not for --help

    ledger = open_ledger(folder)
    return render(ledger.sweep, ledger.records(), ledger.test_records(), _about(folder))


def _written(folder: Path, report: Report) -> list[Path]:
    contents = {
        "report.html": report.html,
        "report.md": report.markdown,
        "trials.csv": report.csv,
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in contents]


def _about(folder: Path) -> dict[str, str]:
    """What is installed here and now; a sweep's own environment is with its runs in MLflow."""
    return {
        "folder": str(folder.resolve()),
        "commit at the time of this report": _commit(),
        "python": sys.version.split()[0],
        **{package: version(package) for package in PACKAGES},
        "this page": f"python -m sweeper.report {folder}",
    }


def _commit() -> str:
    """Of the code, with -dirty if it has changed since."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        here = Path(__file__).parent
        done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown: not a git checkout"
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
