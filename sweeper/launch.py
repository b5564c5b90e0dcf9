"""Search over a YAML file: `python -m sweeper.launch search_spaces/quickstart.yaml`."""

import argparse
import os
import shlex
import sys
from pathlib import Path

if __name__ == "__main__" and not __package__:
    # A plain script: `ray submit` copies this one file to the head node's home and runs it there.
    # Go on as the module, in the folder of the project and, if it was copied, on the cluster.
    here = Path(__file__).resolve().parents[1]
    places = [here, Path(os.environ.get("MPNET_HOME", "~/mpnet")).expanduser()]
    root = next((place for place in places if (place / "sweeper" / "launch.py").is_file()), None)
    if root is None:
        print(
            f"launch.py: the project must be in {places[1]}, but is not; set MPNET_HOME.",
            file=sys.stderr,
        )
        sys.exit(2)
    if root != here:
        os.environ.setdefault("RAY_ADDRESS", "auto")
        os.environ.setdefault("MPNET_LAUNCH", "ray submit docker/cluster.yaml sweeper/launch.py")
    os.chdir(root)
    os.execv(sys.executable, [sys.executable, "-m", "sweeper.launch", *sys.argv[1:]])

from rich.console import Console

from sweeper.errors import SweepError
from sweeper.folder import Choice, is_table, load_folder
from sweeper.importing import importing
from sweeper.sweep import Sweep, load_sweep
from sweeper.texts import typed

_LAUNCH = "python -m sweeper.launch"  # MPNET_LAUNCH: how it was called where that is not so
EXAMPLES = """examples:
  python -m sweeper.launch search_spaces/quickstart.yaml
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --plan
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml run.epochs=20 sweep.trials=16
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --resume
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --select-only select.top=3
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --status
  python -m sweeper.launch search_spaces/table1 --budget reduced --only '*.split_mnist*'
  ray submit docker/cluster.yaml sweeper/launch.py search_spaces/ppbi_cifar.yaml

A search sees validation data only; the best configurations are then rerun on the test sets with
seeds of their own. Ctrl-C stops cleanly, and so does a power cut: --resume goes on. Files are in
sweeps/NAME: the report, the ledger (an Optuna journal) and, by default, MLflow's database.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, call one function, print."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_intermixed_args(arguments)
    console = Console()
    try:
        sweeps = _sweeps(options)
        # Seconds, for Ray, Optuna and PyTorch: a misspelt file is known before.
        with importing():
            from sweeper import preflight, queue, start

        asked = preflight.Options(
            folder=options.output or Path("sweeps") / _name(options),
            command=typed(*shlex.split(os.environ.get("MPNET_LAUNCH", _LAUNCH)), *arguments),
            resume=options.resume,
            plan_only=options.plan,
            select_only=options.select_only,
            address=options.address or os.environ.get("RAY_ADDRESS") or None,
        )
        if options.file.is_dir():
            if options.status:
                return queue.show_status(sweeps, asked, console)
            return queue.launch_all(sweeps, asked, console, is_table(options.file))
        if options.status:
            return start.show_status(asked.folder, console)
        return start.launch(sweeps[0], asked, console)
    except SweepError as error:
        Console(stderr=True).print(str(error), style="red", markup=False, soft_wrap=True)
        return 2


def _sweeps(options: argparse.Namespace) -> list[Sweep]:
    if options.file.is_dir():
        choice = Choice(options.overrides, options.budget, options.only or ())
        return load_folder(options.file, choice)
    if options.budget or options.only:
        raise SweepError("--budget and --only: must come with a folder of sweeps, not a file.")
    return [load_sweep(options.file, options.overrides)]


def _name(options: argparse.Namespace) -> str:
    """Of the output folder: tables with different budgets are different tables."""
    return "-".join(filter(None, [options.file.resolve().stem, options.budget]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sweeper.launch",
        description="Search for the best configurations and rerun them on the test sets.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
    parser.add_argument("--output", type=Path, help="folder for files (default: sweeps/NAME)")
    parser.add_argument("--address", help="of a Ray cluster, such as auto (default: RAY_ADDRESS)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
