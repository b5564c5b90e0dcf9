"""Run one YAML `run:` block, without a sweep."""

import argparse
import json
import logging
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from mpnet import metrics
from mpnet.config import RunConfig, load_run
from mpnet.continual import run
from mpnet.errors import ConfigError, DataMissing, Diverged
from mpnet.metrics import Matrix
from mpnet.training import EpochReport

EXAMPLES = """examples:
  python -m mpnet search_spaces/quickstart.yaml
  python -m mpnet search_spaces/quickstart.yaml training.epochs=5 layers.likelihood=gaussian
  python -m mpnet search_spaces/quickstart.yaml --split test --seed 3
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
        R = _run_with_progress(config, console)
    except (ConfigError, DataMissing, Diverged) as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return 1 if isinstance(error, Diverged) else 2
    except KeyboardInterrupt:
        console.print("Stopped.", style="yellow")
        return 130
    console.print(_table(R, config))
    print(json.dumps(_summary(R)))
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
    return parser


def _run_with_progress(config: RunConfig, console: Console) -> Matrix:
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
            progress.update(
                bar,
                advance=1,
                total=report.n_tasks * config.training.epochs,
                description=f"task {report.task + 1}/{report.n_tasks}",
                status=f"loss {report.loss:8.4f}  validation {report.validation_accuracy:6.2%}",
            )

        return run(config, on_epoch_end=on_epoch_end)


def _table(R: Matrix, config: RunConfig) -> Table:
    method, benchmark = config.method["name"], config.benchmark["name"]
    table = Table(
        title=f"{method} on {benchmark}: {config.split} accuracy in %, seed {config.seed}",
        caption=f"ACC {metrics.acc(R):.2%}   BWT {metrics.bwt(R):+.2%}",
    )
    table.add_column("after")
    for i in range(len(R)):
        table.add_column(f"task {i + 1}", justify="right")
    for t, row in enumerate(R):
        table.add_row(f"task {t + 1}", *(_cell(value) for value in row))
    return table


def _cell(value: float) -> str:
    if np.isnan(value):
        return ""
    colour = "green" if value >= 0.95 else "yellow" if value >= 0.8 else "red"
    return f"[{colour}]{100 * value:.2f}[/]"


def _summary(R: Matrix) -> dict[str, object]:
    rows = [[None if np.isnan(value) else value for value in row] for row in R]
    return {"acc": metrics.acc(R), "bwt": metrics.bwt(R), "R": rows}


if __name__ == "__main__":
    sys.exit(main())
