"""Files of a missing data set that lie elsewhere below the data root, or are still packed."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mpnet.datasets._base import Dataset, Layout, Part, SourceFile
from mpnet.datasets._decoding import md5

_DEEPEST = 4  # folders below the root that are looked into
_MOST_FILES = 20_000  # in a folder: beyond that it holds pictures
_PACKED = (".gz", ".zip", ".tar.gz", ".tgz")


def misplaced(dataset: Dataset, root: Path, parts: Sequence[Part]) -> list[str]:
    """A line for each file that is missing in its place and found in another one.

    They are those of the first layout of which any is found.
    """
    paths = list(_paths_below(root))
    found = [[*_found(way, root, parts, paths)] for way in dataset.layouts]
    return next(filter(None, found), []) or [*_archives(dataset, root, paths)]


def _found(
    layout: Layout, root: Path, parts: Sequence[Part], paths: Sequence[Path]
) -> Iterator[str]:
    for file in dict.fromkeys(file for part in parts for file in layout.files[part]):
        place = root / file.path
        if place.exists():
            continue
        if (packed := Path(f"{place}.gz")).exists():
            yield f"{packed} is still packed: unpack it there with gunzip."
        elif (other := next((p for p in paths if _is(file, p, root)), None)) is not None:
            yield f"{other} is misplaced: move it to {place}."


def _is(file: SourceFile, path: Path, root: Path) -> bool:
    """Whether a path looks like a source file in another place: by content, else by name."""
    own, other = Path(file.path).parts, path.relative_to(root).parts
    if own[-1] != other[-1] or file.path.endswith("/") != path.is_dir():
        return False
    if file.md5 is not None:
        return path.stat().st_size == (file.size or path.stat().st_size) and md5(path) == file.md5
    return not path.is_dir() or own[-2:] == other[-2:][-len(own) :]


def _archives(dataset: Dataset, root: Path, paths: Sequence[Path]) -> Iterator[str]:
    """The archives of which one is told how to get the set."""
    for path in paths:
        if path.name.endswith(_PACKED) and path.name in dataset.how_to_get:
            yield f"{path} is still packed: unpack it in {root}."


def _paths_below(root: Path) -> Iterator[Path]:
    """Files and folders, but for decoded copies and what lies among very many."""
    for folder, folders, names in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(n for n in folders if n != "decoded" and not n.startswith("."))
        if depth >= _DEEPEST or len(names) > _MOST_FILES:
            folders.clear()
        yield from (Path(folder, name) for name in folders)
        yield from (Path(folder, name) for name in sorted(names)[:_MOST_FILES])
