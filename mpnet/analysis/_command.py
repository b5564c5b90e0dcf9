"""One command from folders to files, for whichever command line asks."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track

from mpnet.analysis._base import ANALYSES, Watch
from mpnet.analysis._runs import load_runs
from mpnet.benchmarks import EvaluationSplit
from mpnet.config import bound_options

T = TypeVar("T")


def analyse(
    command: str,
    folders: Sequence[Path],
    output: Path,
    console: Console,
    split: EvaluationSplit | None = None,
    **options: Any,
) -> list[Path]:
    """Load runs, analyse them, show the summary and where the files are.

    Raises:
        ConfigError: a folder holds no finished run, or not one that this command can take; or
            an option has a value that it cannot have.
        DataMissing: a data set is not there.
    """
    member = ANALYSES[command]
    bound = bound_options(member.run, options, where=command)
    finding = member.run(load_runs(folders, split), _shown(console), **bound)
    console.print(finding.summary)
    paths = finding.write(output)
    for path in paths:
        console.print(str(path), highlight=False, soft_wrap=True, markup=False)
    return paths


def _shown(console: Console) -> Watch:
    """A progress bar that is gone when it is full."""

    def shown(items: Sequence[T], title: str, /) -> Iterable[T]:
        return track(items, title, console=console, transient=True)

    return shown
