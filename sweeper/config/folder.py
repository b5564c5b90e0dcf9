"""A folder of sweeps: one for each of its files, or a table with one for each row and column.

A table has `rows/` (methods), `columns/` (benchmarks) and perhaps `budgets/`. A row says `from`
which search space it comes, by network; a column says which network it takes. What comes later
wins: search space, column, row, budget, command line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mpnet.reading import merged
from sweeper.config.reading import override, read_blocks
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.errors import SweepError

Blocks = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """What is wanted of a folder.

    Args:
        overrides: for every sweep, as on the command line.
        budget: name of a file in `budgets/`; None for the sweeps as they are.
        only: patterns of names, such as "*.split_mnist_5"; all sweeps if there are none.
    """

    overrides: Sequence[str] = ()
    budget: str | None = None
    only: Sequence[str] = ()


def load_folder(folder: Path, choice: Choice) -> list[Sweep]:
    """All sweeps of a folder, named after their files, or ROW.COLUMN in a table.

    Raises:
        SweepError: with the faults of all of them.
    """
    pieces = _cells(folder) if is_table(folder) else {path.stem: path for path in _files(folder)}
    chosen = {name: where for name, where in pieces.items() if _is_chosen(name, choice.only)}
    if not chosen:
        raise SweepError(_nothing_chosen(folder, choice, list(pieces)))
    budget = _budget(folder, choice.budget)
    sweeps, faults = [], dict[str, None]()
    for name, where in chosen.items():
        try:
            sweeps.append(_loaded(name, where, budget, choice.overrides))
        except SweepError as error:
            faults |= dict.fromkeys(str(error).splitlines())
    if faults:
        raise SweepError("\n".join(faults))
    return sweeps


def is_table(folder: Path) -> bool:
    """Whether it has a sweep for each row and column."""
    return (folder / "rows").is_dir() and (folder / "columns").is_dir()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.y*ml"))


def _cells(folder: Path) -> dict[str, tuple[Path, Path]]:
    """The files of each cell, column by column, so that one data set is done after the other."""
    rows, columns = _files(folder / "rows"), _files(folder / "columns")
    return {f"{row.stem}.{column.stem}": (row, column) for column in columns for row in rows}


def _is_chosen(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def _nothing_chosen(folder: Path, choice: Choice, names: Sequence[str]) -> str:
    if not names:
        return f"{folder}: must hold YAML files, or rows/ and columns/ of them, but holds none."
    shown = ", ".join([*names[:5], "..."] if len(names) > 5 else names)
    return f"--only {' '.join(choice.only)}: must fit the name of a sweep; there is {shown}."


def _budget(folder: Path, name: str | None) -> Blocks:
    if name is None:
        return {}
    known = [path.stem for path in _files(folder / "budgets")]
    if name not in known:
        there = ", ".join(known) or "none"
        raise SweepError(f"--budget {name}: must be a file in {folder / 'budgets'}: {there}.")
    return read_blocks(folder / "budgets" / f"{name}.yaml")


def _loaded(
    name: str, where: Path | tuple[Path, Path], budget: Blocks, overrides: Sequence[str]
) -> Sweep:
    blocks = read_blocks(where) if isinstance(where, Path) else _cell(*where)
    blocks = merged(blocks, budget)
    faults = [fault for text in overrides if (fault := override(blocks, text))]
    return parse_sweep(blocks, name, name, faults)


def _cell(row_file: Path, column_file: Path) -> Blocks:
    """A method's search space on a benchmark."""
    row, column = read_blocks(row_file), read_blocks(column_file)
    bases, network = row.pop("from", None), column.pop("network", None)
    if not isinstance(bases, dict) or not all(isinstance(name, str) for name in bases.values()):
        raise SweepError(f"{row_file}: `from` must name a search space for each network.")
    if network not in bases:
        known = ", ".join(bases)
        raise SweepError(f"{column_file}: `network` must be one of {row_file}'s: {known}.")
    base = read_blocks(row_file.parent / bases[network])
    return merged(merged(base, column), row)
