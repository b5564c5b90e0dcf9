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

from mpnet.reading import merged, shown
from sweeper.config.reading import read_blocks
from sweeper.config.sweep import Sweep, bound_sweep, overridden_sweep
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


def read_folder(folder: Path, choice: Choice) -> list[Sweep]:
    """All sweeps of a folder, named after their files, or ROW.COLUMN in a table.

    Each with its faults; a file that cannot be read at all is one more sweep, of nothing else.

    Raises:
        SweepError: nothing there is what is asked for, or two files have one name.
    """
    pieces = _cells(folder) if is_table(folder) else _files(folder)
    chosen = {name: where for name, where in pieces.items() if _is_chosen(name, choice.only)}
    if not chosen:
        raise SweepError(_nothing_chosen(folder, choice, list(pieces)))
    budget = _budget(folder, choice.budget)
    return [_read(name, where, budget, choice.overrides) for name, where in chosen.items()]


def is_table(folder: Path) -> bool:
    """Whether it has a sweep for each row and column."""
    return (folder / "rows").is_dir() and (folder / "columns").is_dir()


def _files(folder: Path) -> dict[str, Path]:
    """The files of a folder by their names, of which each must be there once."""
    every = sorted(path for end in ("yaml", "yml") for path in folder.glob(f"*.{end}"))
    found = {path.stem: path for path in every}
    twice = [f"{p} and {found[p.stem].name}" for p in every if p != found[p.stem]]
    if twice:
        raise SweepError(f"{'; '.join(twice)}: must have different names; rename one of them.")
    return found


def _cells(folder: Path) -> dict[str, tuple[Path, Path]]:
    """The files of each cell, column by column, so that one data set is done after the other."""
    rows, columns = _files(folder / "rows"), _files(folder / "columns")
    return {f"{r}.{c}": (rows[r], columns[c]) for c in columns for r in rows}


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
    known = _files(folder / "budgets")
    if name not in known:
        there = ", ".join(known) or "none"
        raise SweepError(f"--budget {name}: must be a file in {folder / 'budgets'}: {there}.")
    return read_blocks(known[name])


def _read(
    name: str, where: Path | tuple[Path, Path], budget: Blocks, overrides: Sequence[str]
) -> Sweep:
    try:
        blocks = read_blocks(where) if isinstance(where, Path) else _cell(*where)
    except SweepError as error:
        return bound_sweep({"run": {}}, name, name, str(error).splitlines())
    return overridden_sweep(merged(blocks, budget), overrides, name, name)


def _cell(row_file: Path, column_file: Path) -> Blocks:
    """A method's search space on a benchmark."""
    row, column = read_blocks(row_file), read_blocks(column_file)
    bases, network = row.pop("from", None), column.pop("network", None)
    if not isinstance(bases, dict) or not all(isinstance(name, str) for name in bases.values()):
        raise SweepError(f"{row_file}: `from` must name a search space for each network.")
    if not isinstance(network, str) or network not in bases:
        must = f"`network` must be one of {row_file}'s: {', '.join(map(str, bases))}"
        raise SweepError(f"{column_file}: {must}, but got {shown(network)}.")
    base = read_blocks(row_file.parent / bases[network])
    return merged(merged(base, column), row)
