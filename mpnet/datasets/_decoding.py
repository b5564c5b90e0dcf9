"""Source files to checked arrays: what is read must be what its publisher gave out."""

import hashlib
import logging
import pickle
import zipfile
import zlib
from pathlib import Path

import numpy as np

from mpnet.datasets._base import Dataset, Images, Layout, Part, SourceFile, describe
from mpnet.datasets._downloading import download
from mpnet.errors import DataMissing

_logger = logging.getLogger(__name__)

# What parsers raise when a file is not what its name promises.
_UNREADABLE = (
    ArithmeticError,
    AssertionError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.UnpicklingError,
    zipfile.BadZipFile,
    zlib.error,
)


def decode(dataset: Dataset, root: Path, part: Part) -> Images:
    """Read a part from its source files, which are downloaded if they can and must be."""
    layout = dataset.layout(root, part)
    if layout is None:
        download(dataset, root, part)
        layout = dataset.layouts[0]
    differing = [file for file in layout.files[part] if differs(file, root)]
    if differing and layout.is_exact:
        raise _damaged(dataset, root, differing[0])
    decoded = _read(dataset, layout, root, part)
    for file in differing:
        _logger.warning(
            "data set '%s': expected %s, but found another checksum; used, since it can be read.",
            dataset.name,
            describe(file, root),
        )
    return decoded


def differs(file: SourceFile, root: Path) -> bool:
    """Whether the file has an official checksum and another content."""
    return file.md5 is not None and md5(root / file.path) != file.md5


def md5(path: Path) -> str:
    """The checksum of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def fault(dataset: Dataset, images: Images) -> str | None:
    """What is wrong with arrays that should be a part of this set, if anything."""
    x, y = images
    if x.dtype != np.uint8 or x.ndim != 4 or x.shape[1:] != dataset.shape:
        return f"images must be uint8 (n, {dataset.shape}), but are {x.dtype} {x.shape}"
    if y.dtype != np.int64 or y.shape != x.shape[:1] or not len(y):
        return f"labels must be int64, one for each of the {len(x)} images, but are {y.shape}"
    if y.min() < 0 or y.max() >= dataset.n_classes:
        return f"labels must be 0 ... {dataset.n_classes - 1}, but are {y.min()} ... {y.max()}"
    return None


def _read(dataset: Dataset, layout: Layout, root: Path, part: Part) -> Images:
    _logger.info("data set '%s', part '%s': reading the source files once", dataset.name, part)
    try:
        decoded = layout.read(root, part)
        problem = fault(dataset, decoded)
    except DataMissing:
        raise
    except _UNREADABLE as error:
        raise _unreadable(dataset, layout, root, part, str(error) or repr(error)) from error
    if problem is not None:
        raise _unreadable(dataset, layout, root, part, problem)
    return decoded


def _unreadable(
    dataset: Dataset, layout: Layout, root: Path, part: Part, reason: str
) -> DataMissing:
    where = ", ".join(str(root / file.path) for file in layout.files[part])
    return DataMissing(
        f"data set '{dataset.name}', part '{part}': {where} must be readable, but is not: "
        f"{reason}. It is damaged: replace it or get it again. {dataset.how_to_get}"
    )


def _damaged(dataset: Dataset, root: Path, file: SourceFile) -> DataMissing:
    path = root / file.path
    return DataMissing(
        f"data set '{dataset.name}': there must be {describe(file, root)}, but the file there has "
        f"{path.stat().st_size:,} bytes, md5 {md5(path)}. It is damaged: delete it and get it "
        f"again. {dataset.how_to_get}"
    )
