"""What every analysis takes and gives: trained runs to a figure, its data and a summary."""

import csv
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from matplotlib.figure import Figure
from rich.console import Group
from rich.table import Table
from rich.text import Text

from mpnet.analysis._figure import save
from mpnet.registry import Registry

T = TypeVar("T")
Summary = Group  # of a title and a table
Row = Mapping[str, Any]


class Watch(Protocol):
    """Hands items on one by one, and may show how many are left."""

    def __call__(self, items: Sequence[T], title: str, /) -> Iterable[T]:
        """The same items, one by one."""


def unwatched(items: Sequence[T], title: str, /) -> Iterable[T]:
    """Show nothing."""
    return items


@dataclass(frozen=True)
class Finding:
    """What came out of an analysis.

    Args:
        name: of the files.
        figure: for print and screen.
        rows: what the figure shows, as numbers.
        summary: what to remember of it.
        details: further tables by name, each to a CSV file of its own.
    """

    name: str
    figure: Figure
    rows: Sequence[Row]
    summary: Summary
    details: Mapping[str, Sequence[Row]] = field(default_factory=dict)

    def write(self, folder: Path) -> list[Path]:
        """Write the figure as PNG and SVG and its data as CSV; gives the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        pictures = [folder / f"{self.name}.{kind}" for kind in ("png", "svg")]
        for path in pictures:
            save(self.figure, path)
        tables = {folder / f"{self.name}.csv": self.rows}
        tables |= {folder / f"{self.name}_{key}.csv": rows for key, rows in self.details.items()}
        for path, rows in tables.items():
            _write_rows(path, rows)
        return [*pictures, *tables]


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@dataclass(frozen=True)
class Analysis:
    """An analysis as a command.

    Args:
        run: from runs to what they show; keyword-only arguments are its options.
        takes_several: whether it takes several runs at a time, or one.
    """

    run: Callable[..., Finding]
    takes_several: bool

    @property
    def about(self) -> str:
        """What the command shows, in one line."""
        return (self.run.__doc__ or "").partition("\n")[0]

    @property
    def options(self) -> dict[str, Any]:
        """The keyword-only arguments of the command and their defaults."""
        parameters = inspect.signature(self.run).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


ANALYSES: Registry[Analysis] = Registry("analysis")


def analysis(
    name: str, *, several: bool
) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
    """Register a function as a command."""

    def enter(function: Callable[..., Finding]) -> Callable[..., Finding]:
        ANALYSES.register(name)(Analysis(function, several))
        return function

    return enter


def flag(option: str) -> str:
    """An option as it is typed: --n-weights for n_weights."""
    return f"--{option.replace('_', '-')}"


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Summary:
    """A table below a title of any width; the first column is text, all others are numbers."""
    shown = Table()
    for place, column in enumerate(columns):
        shown.add_column(column, justify="right" if place else "left")
    for row in rows:
        shown.add_row(*row)
    return Summary(Text(title, style="bold"), shown)


def several_values(values: Sequence[float], text: Callable[[float], str]) -> str:
    """Mean and range over seeds, or the one value; NaN is none."""
    if any(value != value for value in values):
        return "none"
    mean = text(sum(values) / len(values))
    return mean if len(values) == 1 else f"{mean} ({text(min(values))} ... {text(max(values))})"
