"""Run one YAML `run:` block, without a sweep."""

import argparse
import hashlib
import json
import logging
import sys
from pathlib import Path

from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig, load_run
from mpnet.continual import run
from mpnet.errors import CheckpointError, ConfigError, DataMissing, Dead, Diverged
from mpnet.metrics import Matrix
from mpnet.results import summary_line, table, write_results
from mpnet.training import EpochReport

EXAMPLES = """examples:
  python -m mpnet search_spaces/quickstart.yaml
  python -m mpnet search_spaces/quickstart.yaml training.epochs=5 layers.likelihood=gaussian
  python -m mpnet search_spaces/quickstart.yaml --split test --seed 3
  python -m mpnet search_spaces/quickstart.yaml --resume
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, print: progress and tables on stderr, one JSON line on stdout."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True)
    logging.basicConfig(format="%(message)s", handlers=[RichHandler(console=console)])
    overrides = [*options.overrides]
    overrides += [f"split={options.split}"] if options.split else []
    overrides += [f"seed={options.seed}"] if options.seed is not None else []
    try:
        config = load_run(options.file, overrides)
        folder = options.output or _default_folder(options.file, config)
        R = _run_with_progress(config, _checkpoints(folder, options.resume), console)
    except (ConfigError, DataMissing, CheckpointError, Diverged, Dead) as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return 1 if isinstance(error, Diverged | Dead) else 2
    except KeyboardInterrupt:
        console.print("Stopped; the same command with --resume goes on.", style="yellow")
        return 130
    write_results(folder, config, R)
    console.print(table(R, config))
    console.print(f"Files are in {folder}", highlight=False, soft_wrap=True)
    print(json.dumps(summary_line(R)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mpnet",
        description="Train one continual-learning run and print its accuracy matrix R.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, help="YAML file with a `run:` block")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="dotted paths into it")
    parser.add_argument("--split", choices=["validation", "test"], help="what R is judged on")
    parser.add_argument("--seed", type=int, help="of weights, batches and dropout")
    parser.add_argument("--output", type=Path, help="folder for files (default: below runs/)")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    return parser


def _default_folder(file: Path, config: RunConfig) -> Path:
    """One folder per configuration, so that the same command finds its checkpoint again."""
    digest = hashlib.sha256(config.identity().encode()).hexdigest()[:8]
    return Path("runs") / f"{file.stem}-{config.method['name']}-seed{config.seed}-{digest}"


def _checkpoints(folder: Path, is_resumed: bool) -> Checkpoints:
    checkpoints = Checkpoints(folder)
    if not is_resumed:
        checkpoints.path.unlink(missing_ok=True)
    return checkpoints


def _run_with_progress(config: RunConfig, checkpoints: Checkpoints, console: Console) -> Matrix:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs  {task.fields[status]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("reading data", total=None, status="")

        def on_epoch_end(report: EpochReport) -> None:
            n_epochs = config.training.epochs
            progress.update(
                bar,
                completed=report.task * n_epochs + report.epoch + 1,
                total=report.n_tasks * n_epochs,
                description=f"task {report.task + 1}/{report.n_tasks}",
                status=f"loss {report.loss:8.4f}  validation {report.validation_accuracy:6.2%}",
            )

        return run(config, on_epoch_end=on_epoch_end, checkpoints=checkpoints)


if __name__ == "__main__":
    sys.exit(main())
