"""Search over a YAML file: `python -m sweeper.launch search_spaces/quickstart.yaml`."""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from sweeper.errors import SweepError
from sweeper.sweep import load_sweep
from sweeper.texts import typed

EXAMPLES = """examples:
  python -m sweeper.launch search_spaces/quickstart.yaml
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --plan
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml run.epochs=20 sweep.trials=16
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --resume
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --select-only select.top=3
  python -m sweeper.launch search_spaces/ppbi_cifar.yaml --status

A search sees validation data only; the best configurations are then rerun on the test sets with
seeds of their own. Ctrl-C stops cleanly, and so does a power cut: --resume goes on. Files are in
sweeps/NAME: the report, the ledger (an Optuna journal) and, by default, MLflow's database.
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, call one function, print."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_intermixed_args(arguments)
    console = Console()
    folder = options.output or Path("sweeps") / options.file.stem
    try:
        sweep = load_sweep(options.file, options.overrides)
        # Seconds, for Ray, Optuna and PyTorch: a misspelt file is known before.
        from sweeper import preflight, service

        if options.status:
            return service.show_status(folder, console)
        asked = preflight.Options(
            folder=folder,
            command=typed("python", "-m", "sweeper.launch", *arguments),
            resume=options.resume,
            plan_only=options.plan,
            select_only=options.select_only,
            address=options.address,
        )
        return service.launch(sweep, asked, console)
    except SweepError as error:
        Console(stderr=True).print(str(error), style="red", markup=False, soft_wrap=True)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m sweeper.launch",
        description="Search for the best configurations and rerun them on the test sets.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="YAML file with run, space, sweep, select")
    parser.add_argument(
        "overrides", nargs="*", metavar="block.key=value", help="such as sweep.trials=4"
    )
    parser.add_argument("--plan", action="store_true", help="show what it would take, and stop")
    parser.add_argument("--resume", action="store_true", help="go on with a sweep that was begun")
    parser.add_argument("--select-only", action="store_true", help="only rerun the best")
    parser.add_argument("--status", action="store_true", help="show how a sweep is doing")
    parser.add_argument("--output", type=Path, help="folder for files (default: sweeps/NAME)")
    parser.add_argument("--address", help="of a Ray cluster, such as auto (default: none)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
