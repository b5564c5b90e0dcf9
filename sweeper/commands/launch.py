"""`sweeper launch`, also `python -m sweeper.launch`: search, and rerun the best."""

import argparse
import os
import shlex
import sys
from pathlib import Path

from mpnet.command_line import new_parser
from sweeper.commands import status
from sweeper.commands._words import plain_console, print_error
from sweeper.config.folder import Choice, is_table, read_folder
from sweeper.config.sweep import Sweep, read_sweep
from sweeper.driver.stopping import signals_taken
from sweeper.errors import SweepError
from sweeper.importing import importing
from sweeper.results.texts import resuming, shell_command

SUMMARY = "Search for the best configurations and rerun them on the test sets."
EXAMPLES = """examples:
  {prog} search_spaces/quickstart.yaml
  {prog} search_spaces/ppbi_cifar.yaml --plan
  {prog} search_spaces/ppbi_cifar.yaml run.epochs=20 sweep.trials=16
  {prog} search_spaces/ppbi_cifar.yaml --resume
  {prog} search_spaces/ppbi_cifar.yaml --select-only select.top=3
  {prog} search_spaces/ppbi_cifar.yaml --status
  {prog} search_spaces/table1 --budget reduced --only '*.split_mnist*'
  ray submit docker/cluster.yaml sweeper/launch.py search_spaces/ppbi_cifar.yaml

A search sees validation data only; the best configurations are then rerun on the test sets with
seeds of their own. Several sweeps are one queue: whenever a device is free, the first that has
something to give gets it. Ctrl-C stops cleanly, and so does a power cut: --resume goes on. Files
are in sweeps/NAME: the report, the ledger (an Optuna journal) and, by default, MLflow's database.
"""


def main(arguments: list[str] | None = None, prog: str = "sweeper launch") -> int:
    """Parse, call one function, print."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser(prog).parse_intermixed_args(arguments)
    # MPNET_LAUNCH: how it was called where that is not so.
    called = shlex.split(os.environ.get("MPNET_LAUNCH", prog))
    command = shell_command(*called, *arguments)
    folder = options.output or Path("sweeps") / _name(options)
    try:
        if options.status and os.path.exists(options.file / "study.journal"):
            return status.main([str(options.file)])
        with signals_taken(folder, resuming(command)):
            return _launched(options, folder, command)
    except SweepError as error:
        return print_error(error)


def _launched(options: argparse.Namespace, folder: Path, command: str) -> int:
    sweeps = _sweeps(options)
    # Seconds, for Ray, Optuna and PyTorch: a misspelt file is known before.
    with importing():
        from sweeper.driver import launching
        from sweeper.driver.preparation import Options

    asked = Options(
        folder=folder,
        command=command,
        resume=options.resume,
        plan_only=options.plan,
        select_only=options.select_only,
        address=options.address or os.environ.get("RAY_ADDRESS") or None,
        is_folder=os.path.isdir(options.file),
        is_table=is_table(options.file),
        tracking_uri=options.tracking_uri,
    )
    if options.status and asked.is_folder:
        return launching.show_all(sweeps, asked, plain_console())
    if options.status:
        return status.main([str(asked.folder)])
    return launching.launch(sweeps, asked, plain_console())


def _sweeps(options: argparse.Namespace) -> list[Sweep]:
    if os.path.isdir(options.file):
        choice = Choice(options.overrides, options.budget, options.only or ())
        return read_folder(options.file, choice)
    if options.budget or options.only:
        raise SweepError("--budget and --only: must come with a folder of sweeps, not a file.")
    return [read_sweep(options.file, options.overrides)]


def _folder(text: str) -> Path:
    """A folder as a shell would understand it, wherever the `~` stood."""
    if not text:
        raise argparse.ArgumentTypeError("must name a folder, but is empty")
    return Path(os.path.expanduser(text))


def _name(options: argparse.Namespace) -> str:
    """The name of the output folder: tables with different budgets are different tables."""
    stem = Path(os.path.realpath(options.file)).stem
    return "-".join(filter(None, [stem, options.budget]))


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument(
        "file", type=Path, help="YAML file with run, space, sweep, select; or a folder of them"
    )
    parser.add_argument(
        "overrides", nargs="*", metavar="block.key=value", help="such as sweep.trials=4"
    )
    parser.add_argument("--plan", action="store_true", help="show what it would take, and stop")
    parser.add_argument("--resume", action="store_true", help="go on with a sweep that was begun")
    parser.add_argument("--select-only", action="store_true", help="only rerun the best")
    parser.add_argument("--status", action="store_true", help="show how a sweep is doing")
    parser.add_argument("--budget", metavar="NAME", help="of a folder: budgets/NAME.yaml on top")
    parser.add_argument(
        "--only", action="append", metavar="PATTERN", help="of a folder: sweeps with such names"
    )
    parser.add_argument(
        "--output", type=_folder, metavar="DIR", help="folder for files (default: sweeps/NAME)"
    )
    parser.add_argument("--tracking-uri", help="of MLflow; for a begun sweep, from now on")
    parser.add_argument("--address", help="of a Ray cluster, such as auto (default: RAY_ADDRESS)")
    return parser
