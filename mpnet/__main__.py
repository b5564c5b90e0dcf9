"""Run one YAML `run:` block, without a sweep."""

import argparse
import hashlib
import logging
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mpnet.benchmarks import BENCHMARKS
from mpnet.checkpoint import Checkpoints
from mpnet.command_line import new_parser
from mpnet.config import RunConfig, load_run, options_of
from mpnet.continual import Results, run
from mpnet.errors import CheckpointError, ConfigError, DataMissing, Dead, Diverged
from mpnet.first_tasks import FirstTasks
from mpnet.layers import FAMILIES
from mpnet.methods import METHODS
from mpnet.metrics import acc
from mpnet.networks import NETWORKS
from mpnet.plugins import load_plugins
from mpnet.registry import Registry
from mpnet.results import (
    RESULT,
    json_text,
    selectivity_text,
    summary_line,
    table,
    write_results,
)
from mpnet.training import EpochReport, TrainingSettings

_SECONDS_BETWEEN_EPOCHS = 60.0  # in a pipe
EXAMPLES = """examples:
  python -m mpnet search_spaces/quickstart.yaml
  python -m mpnet search_spaces/quickstart.yaml training.epochs=5 layers.likelihood=gaussian
  python -m mpnet search_spaces/quickstart.yaml --split test --seed 3
  python -m mpnet search_spaces/quickstart.yaml --resume
  python -m mpnet search_spaces/quickstart.yaml method.tau_max=1e-6 --prefixes first_tasks
"""


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, print: progress and tables on stderr, one JSON line on stdout."""
    options = _parser().parse_intermixed_args(arguments)
    console = Console(stderr=True)
    logging.basicConfig(format="%(message)s", handlers=[RichHandler(console=console)])
    overrides = [*options.overrides]
    overrides += [f"split={options.split}"] if options.split else []
    overrides += [f"seed={options.seed}"] if options.seed is not None else []
    try:
        config = load_run(options.file, overrides)
        folder = options.output or _default_folder(options.file, config)
        checkpoints = _checkpoints(folder, options.resume, options.restart)
        first_tasks = FirstTasks(options.prefixes) if options.prefixes else None
        results = _run_with_progress(config, checkpoints, first_tasks, console)
    except (ConfigError, DataMissing, CheckpointError, Diverged, Dead) as error:
        console.print(str(error), style="red", markup=False, highlight=False, soft_wrap=True)
        return 1 if isinstance(error, Diverged | Dead) else 2
    except KeyboardInterrupt:
        console.print("Stopped; the same command with --resume goes on.", style="yellow")
        return 130
    was_finished = (folder / RESULT).exists()
    write_results(folder, config, results)
    console.print(table(results, config))
    _print_selectivity(len(results.R) - 1, results, console)
    hint = "; finished before, --restart would train it again" if was_finished else ""
    console.print(f"Files are in {folder}{hint}", highlight=False, soft_wrap=True)
    print(json_text(summary_line(results)))
    return 0


def _parser() -> argparse.ArgumentParser:
    summary = "Train one continual-learning run and print its accuracy matrix R."
    parser = new_parser("python -m mpnet", summary, f"{EXAMPLES}\n{_choices()}")
    parser.add_argument("file", type=Path, help="YAML file with a `run:` block")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="dotted paths into it")
    parser.add_argument("--split", choices=["validation", "test"], help="what R is judged on")
    parser.add_argument("--seed", type=int, help="of weights, batches and dropout")
    parser.add_argument("--output", type=Path, help="folder for files (default: below runs/)")
    parser.add_argument(
        "--prefixes",
        type=Path,
        metavar="FOLDER",
        help="share first tasks: take this run's from there, or leave it there",
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    again.add_argument("--restart", action="store_true", help="delete it and start anew")
    return parser


def _choices() -> str:
    """The names that a run can be made of, and the keys below each."""
    lines = ["what a run is made of:"]
    try:
        load_plugins()
    except ConfigError as error:
        lines += [f"  {line}" for line in str(error).splitlines()]
    blocks: dict[str, Registry[Any]] = {
        "benchmark": BENCHMARKS,
        "network": NETWORKS,
        "method": METHODS,
    }
    for block, registry in blocks.items():
        for name in registry:
            lines.append(f"  {block}.name={name}: {', '.join(options_of(registry[name]))}")
    lines.append("  network.name=package.module:callable: a network of torch.nn; its own options")
    for family in FAMILIES:
        keys = ", ".join(options_of(FAMILIES[family])) or "no keys"
        lines.append(f"  layers (of {family} methods): {keys}")
    lines.append(f"  training: {', '.join(options_of(TrainingSettings))}")
    return "\n".join(lines)


def _default_folder(file: Path, config: RunConfig) -> Path:
    """One folder per configuration, so that the same command finds its checkpoint again."""
    digest = hashlib.sha256(config.identity().encode()).hexdigest()[:8]
    return Path("runs") / f"{file.stem}-{config.method['name']}-seed{config.seed}-{digest}"


def _checkpoints(folder: Path, resume: bool, restart: bool) -> Checkpoints:
    """A finished run is shown again; an unfinished one is not overwritten unless asked for."""
    checkpoints = Checkpoints(folder, keeps_task_ends=True)
    is_finished = (folder / RESULT).exists()
    if restart:
        checkpoints.delete()
        (folder / RESULT).unlink(missing_ok=True)
    elif checkpoints.path.exists() and not (resume or is_finished):
        raise ConfigError(
            f"{folder}: a new run must have a folder of its own, but an unfinished one is there; "
            "go on with --resume, start anew with --restart, or choose another --output."
        )
    return checkpoints


def _run_with_progress(
    config: RunConfig, checkpoints: Checkpoints, first_tasks: FirstTasks | None, console: Console
) -> Results:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs  {task.fields[status]}"),
        TimeRemainingColumn(),
    )
    lines = _Lines(console, config.training.epochs)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bar = progress.add_task("reading data", total=None, status="")

        def on_epoch_end(report: EpochReport) -> None:
            n_epochs = config.training.epochs
            lines.epoch(report)
            progress.update(
                bar,
                completed=report.task * n_epochs + report.epoch + 1,
                total=report.n_tasks * n_epochs,
                description=f"task {report.task + 1}/{report.n_tasks}",
                status=f"loss {report.loss:8.4f}  validation {report.validation_accuracy:6.2%}",
            )

        def on_task_end(t: int, results: Results) -> None:
            lines.task(t, results)
            if t + 1 < len(results.R):  # the last one is told below R
                _print_selectivity(t, results, progress.console)

        results = run(config, on_task_end, on_epoch_end, checkpoints, first_tasks)
    if first_tasks and first_tasks.name and first_tasks.is_taken:
        saved = f"{first_tasks.seconds:.1f} s of training saved"
        text = f"Task 1 was trained before: {first_tasks.folder / first_tasks.name} ({saved})"
        console.print(text, highlight=False, soft_wrap=True)
    return results


class _Lines:
    """What a pipe is told: a line for every task, and now and then one for an epoch."""

    def __init__(self, console: Console, n_epochs: int) -> None:
        self._console, self._n_epochs, self._told_at = console, n_epochs, time.monotonic()

    def epoch(self, report: EpochReport) -> None:
        """An epoch is over."""
        if time.monotonic() - self._told_at >= _SECONDS_BETWEEN_EPOCHS:
            place = f"task {report.task + 1}/{report.n_tasks}"
            place += f", epoch {report.epoch + 1}/{self._n_epochs}"
            reached = f"validation {report.validation_accuracy:.2%}"
            self._tell(f"{place}: loss {report.loss:.4f}, {reached}")

    def task(self, t: int, results: Results) -> None:
        """A task is over."""
        n_tasks, R = len(results.R), results.R[: t + 1, : t + 1]
        reached = f"accuracy {R[t, t]:.2%}, mean over tasks so far {acc(R):.2%}"
        self._tell(f"task {t + 1}/{n_tasks} done: {reached}")

    def _tell(self, line: str) -> None:
        if not self._console.is_terminal:
            self._told_at = time.monotonic()
            self._console.print(line, highlight=False, soft_wrap=True)


def _print_selectivity(t: int, results: Results, console: Console) -> None:
    text = selectivity_text(t, results)
    if text is not None:
        console.print(text, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
