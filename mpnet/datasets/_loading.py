"""The decoded copy of a data set: made once, mapped into memory, shared by all processes."""

import hashlib
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mpnet.datasets._base import (
    PARTS,
    Dataset,
    Images,
    Part,
    data_root,
    dataset,
    files_below,
)
from mpnet.datasets._counts import counts, shortfall
from mpnet.datasets._decoding import decode, fault
from mpnet.errors import ConfigError, DataMissing

if TYPE_CHECKING:
    from filelock import FileLock

_logger = logging.getLogger(__name__)

_VERSION = "v1"  # of the decoded files; another reading of the sources needs another version


def load(
    which: str | Dataset,
    part: Part,
    root: str | Path | None = None,
    may_be_partial: bool = False,
) -> Images:
    """A part of a data set, which is registered if it is given by its name.

    The arrays are private copies-on-write of shared pages.

    Raises:
        DataMissing: it is not there, is damaged, or has not the known number of images.
    """
    if part not in PARTS:
        raise ConfigError(f"data set '{which}': part must be 'train' or 'test', but got '{part}'.")
    description = dataset(which) if isinstance(which, str) else which
    folder = data_root(root)
    cached = decoded_copy(description, folder, part)
    images = cached if cached is not None else _first_use(description, folder, part)
    wrong = shortfall(description, part, counts(description, images))
    if wrong is not None and not may_be_partial:
        raise _partial(description, part, folder, wrong)
    if wrong is not None:
        _tell_once(f"data set '{description.name}', part '{part}': partial data: {wrong}.")
    return images


def _partial(dataset: Dataset, part: Part, root: Path, wrong: str) -> DataMissing:
    return DataMissing(
        f"data set '{dataset.name}', part '{part}', in {root}: {wrong}. {partial_advice(dataset)}"
    )


def partial_advice(dataset: Dataset) -> str:
    """What to do about a set that is not the whole one."""
    return (
        f"{dataset.how_to_get} Or use what is there: benchmark.partial_data=[{dataset.name}] "
        "says so, and is kept with the results."
    )


@cache
def _tell_once(line: str) -> None:
    _logger.warning("%s", line)


def decoded_copy(dataset: Dataset, root: Path, part: Part) -> Images | None:
    """The decoded copy if it exists, is whole and was made of the source files that are there."""
    paths = decoded_paths(dataset, root, part)
    try:
        contents = _contents(dataset, root, part)
        if contents is not None and contents != _made_of(paths[0]).read_text():
            return None
        copy = Images(_mapped(paths[0]), _mapped(paths[1]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _logger.warning("%s is damaged and made again: %s", paths[0], error)
        return None
    problem = fault(dataset, copy)
    if problem is not None:
        _logger.warning("%s is damaged and made again: %s", paths[0], problem)
    return None if problem else copy


def make_decoded_copy(dataset: Dataset, root: Path, part: Part) -> Images:
    """Decode the source files and keep the result; the caller holds the lock."""
    before = _contents(dataset, root, part)
    decoded = decode(dataset, root, part)
    try:
        images, labels = decoded_paths(dataset, root, part)
        _made_of(images).unlink(missing_ok=True)  # a half-made copy belongs to nothing
        _store(images, decoded.images)
        _store(labels, decoded.labels)
        _made_of(images).write_text(before or _contents(dataset, root, part) or "")
    except OSError as error:
        _logger.warning("decoded data are not kept for the next start: %s", error)
        return decoded
    return decoded_copy(dataset, root, part) or decoded


def decoded_paths(dataset: Dataset, root: Path, part: Part) -> tuple[Path, Path]:
    """The files in which decoded images and labels are kept."""
    stem = f"{dataset.name}-{part}-{_VERSION}"
    return root / "decoded" / f"{stem}-images.npy", root / "decoded" / f"{stem}-labels.npy"


@contextmanager
def lock(dataset: Dataset, root: Path) -> Iterator[None]:
    """Let one process at a time download or decode a set; the system frees it after a crash."""
    held = _acquired(root / "decoded" / f"{dataset.name}.lock")
    try:
        yield
    finally:
        if held is not None:
            held.release()


def _first_use(dataset: Dataset, root: Path, part: Part) -> Images:
    with lock(dataset, root):
        cached = decoded_copy(dataset, root, part)  # another process may have been quicker
        return cached if cached is not None else make_decoded_copy(dataset, root, part)


def _acquired(path: Path) -> "FileLock | None":
    from filelock import FileLock  # here, since most starts find the decoded copy

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(path)
        held.acquire()
    except (OSError, NotImplementedError) as error:  # a read-only root, or one without locks
        _logger.warning("%s: used without a lock: %s", path.parent, error)
        return None
    return held


def _contents(dataset: Dataset, root: Path, part: Part) -> str | None:
    """A key of the source files: names, sizes and times of all; None if there are none."""
    layout = dataset.layout(root, part)
    if layout is None or not layout.files[part]:
        return None  # the copy suffices
    digest = hashlib.sha256()
    for file in layout.files[part]:
        for path in sorted(files_below(root / file.path)):
            known = path.stat()
            digest.update(
                f"{path.relative_to(root)} {known.st_size} {known.st_mtime_ns}\n".encode()
            )
    return digest.hexdigest()


def _made_of(images: Path) -> Path:
    """The file that says of which sources a decoded copy was made."""
    return images.with_name(images.name.replace("-images.npy", "-sources.txt"))


def _mapped(path: Path) -> Any:
    array = np.lib.format.open_memmap(path, mode="c")
    surplus = path.stat().st_size - array.offset - array.nbytes
    if surplus or array.dtype.hasobject or not array.flags.c_contiguous:
        raise ValueError(f"{path.name} has {surplus} bytes too many or a foreign format")
    return array


def _store(path: Path, array: npt.NDArray[Any]) -> None:
    """Write under another name, then rename: the file is whole or not there."""
    for leftover in path.parent.glob(f"{path.name}.*.tmp"):  # of a crash; nobody else writes now
        leftover.unlink(missing_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as stream:
            np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
