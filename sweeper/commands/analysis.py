"""`sweeper analysis`: figures of the runs that a sweep has kept, logged to MLflow."""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpnet.analysis import ANALYSES, analyse, flag
from mpnet.command_line import new_parser
from mpnet.errors import ConfigError, DataMissing
from sweeper import tracking
from sweeper.commands._words import plain_console, print_error
from sweeper.errors import SweepError
from sweeper.execution.storage import RUNS, below, copy_folder, is_folder, run_folder, storage_of
from sweeper.ledger import Ledger, open_ledger
from sweeper.results.records import Record, RerunRecord, StageName
from sweeper.scratch import scratch_folder

SUMMARY = "Show what the networks of a sweep are certain of, and log it to MLflow."
EXAMPLES = """examples:
  {prog} cdf sweeps/ft_split_mnist
  {prog} spread sweeps/ppbi_split_mnist
  {prog} prune sweeps/ft_split_mnist --stage search
  {prog} ood sweeps/ft_split_mnist --against fashion_mnist

The commands are those of `python -m mpnet.analysis`. A sweep keeps its runs on the test sets, and
those of the search too if `sweep.keep_runs` is `all`. Files go to SWEEP/analysis and to MLflow:
what shows one run (cdf, spread) to that run, what shows several together to the sweep's own.
"""


@dataclass(frozen=True)
class Kept:
    """A finished run of a sweep.

    Args:
        name: for people, with the number that tables show: trial3-seed0.
        key: of its MLflow run.
        place: folder or URI.
    """

    name: str
    key: str
    place: str


def main(arguments: list[str] | None = None, prog: str = "sweeper analysis") -> int:
    """Parse, find the runs, analyse, log; print summaries and where the files are."""
    options = vars(_parser(prog).parse_args(arguments))
    command, folder, stage = (options.pop(name) for name in ("command", "folder", "stage"))
    chosen = {name: options[name] for name in ANALYSES[command].options}
    try:
        ledger = open_ledger(folder)
        for runs, key in _portions(command, kept_runs(ledger, folder, stage), ledger):
            _show_and_log(command, runs, chosen, ledger, folder, key)
    except (SweepError, ConfigError, DataMissing) as error:
        return print_error(error)
    return 0


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = new_parser(prog, SUMMARY, EXAMPLES)
    parser.add_argument("command", choices=list(ANALYSES), help="what to show")
    parser.add_argument("folder", type=Path, metavar="SWEEP", help="output folder of a sweep")
    help_stage = "runs on the test sets (default) or those of the search"
    parser.add_argument("--stage", choices=["test", "search"], default="test", help=help_stage)
    for name in ANALYSES:
        for option, default in ANALYSES[name].options.items():
            text = f"of {name} (default: {default})"
            parser.add_argument(flag(option), default=default, help=text)
    return parser


def kept_runs(ledger: Ledger, folder: Path, stage: StageName) -> list[Kept]:
    """The runs of a stage whose weights are still there.

    Raises:
        SweepError: there is none.
    """
    storage = storage_of(ledger.sweep.settings.storage, folder.resolve())
    runs = [run for run in _finished(ledger, storage, stage) if is_folder(run.place)]
    if not runs:
        raise SweepError(
            f"{folder}: finished runs of stage '{stage}' must be kept there, but none is; "
            f"sweep.keep_runs must be {'all' if stage == 'search' else 'test or all'} when a "
            "sweep runs."
        )
    return runs


def _finished(ledger: Ledger, storage: str, stage: StageName) -> Iterator[Kept]:
    records: Sequence[Record] = (
        ledger.trial_records() if stage == "search" else ledger.rerun_records()
    )
    for record in records:
        for seed in record.seeds:
            place = below(storage, RUNS, run_folder(record.run_key, seed))
            yield Kept(_name(record, seed), record.run_key, place)


def _name(record: Record, seed: int) -> str:
    if not isinstance(record, RerunRecord):
        return f"trial{record.number}-seed{seed}"
    rerun = record.rerun
    order = "" if rerun.class_order is None else f"-order{rerun.class_order}"
    return f"trial{rerun.configuration}-seed{seed}{order}"


def _portions(
    command: str, runs: Sequence[Kept], ledger: Ledger
) -> Iterator[tuple[Sequence[Kept], str]]:
    """What is shown together, and the key of the MLflow run that it belongs to."""
    if ANALYSES[command].takes_several:
        yield runs, ledger.sweep_id
    else:
        yield from (([run], run.key) for run in runs)


def _show_and_log(
    command: str,
    runs: Sequence[Kept],
    options: dict[str, Any],
    ledger: Ledger,
    folder: Path,
    key: str,
) -> None:
    console, output = plain_console(), folder / "analysis"
    if key != ledger.sweep_id:
        output /= runs[0].name
    with scratch_folder() as place:
        folders = [_fetched(run, place) for run in runs]
        paths = analyse(command, folders, output, console, **options)
    contents = {f"analysis/{path.name}": path.read_bytes() for path in paths}
    sweep = ledger.sweep
    uri = ledger.tracking_uri
    if uri is None:
        raise SweepError(f"{folder}: a trial must have begun there, but has not.")
    try:
        tracking.add_files(uri, sweep.name, ledger.sweep_id, key, contents)
    except (ConnectionError, LookupError) as error:
        raise SweepError(f"sweep.tracking_uri: {error} The files above are written.") from error
    console.print(f"and in MLflow, below analysis/ of run {key}", highlight=False, soft_wrap=True)


def _fetched(run: Kept, folder: Path) -> Path:
    """The run under its name for people; nothing is copied from a folder on this machine."""
    target = folder / run.name
    if "://" in run.place:
        copy_folder(run.place, str(target))
    else:
        os.symlink(run.place, target)
    return target
