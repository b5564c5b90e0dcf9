"""Folders of image files: listed in a fixed order, split, read and resized."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from mpnet.datasets._base import Bytes, Images, Part

_logger = logging.getLogger(__name__)

Mode = Literal["L", "RGB"]
Filter = Literal["BILINEAR", "LANCZOS"]  # both smooth before they shrink


class Picture(NamedTuple):
    """An image file and its label."""

    path: Path
    label: int


def pictures_of_classes(folders: Sequence[Path]) -> list[Picture]:
    """The files of one folder per class, sorted by name; hidden files do not count."""
    return [Picture(path, i) for i, folder in enumerate(folders) for path in files_in(folder)]


def files_in(folder: Path) -> list[Path]:
    """The files directly in a folder, sorted by name, without hidden ones."""
    return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))


def tenth_as_test(pictures: list[Picture], part: Part) -> list[Picture]:
    """The 90/10 split of the known conversions.

    The list of files is split, not what could be read of it, so that one damaged file moves
    no other from one part to the other.
    """
    import sklearn.model_selection  # here, since it takes seconds that most runs need not spend

    split = sklearn.model_selection.train_test_split(pictures, test_size=0.1, random_state=42)
    return split[part == "test"]


def read_pictures(pictures: list[Picture], mode: Mode, size: int, by: Filter) -> Images:
    """Readable pictures as (n, channels, size, size); the rest is left out with a warning."""
    arrays = [_pixels(picture.path, mode, size, by) for picture in pictures]
    failed = [p.path for p, array in zip(pictures, arrays, strict=True) if array is None]
    if failed:
        _logger.warning(
            "%d of %d images cannot be read and are left out; the first is %s",
            len(failed),
            len(pictures),
            failed[0],
        )
    labels = [p.label for p, array in zip(pictures, arrays, strict=True) if array is not None]
    readable = [array for array in arrays if array is not None]
    return Images(np.stack(readable), np.array(labels, dtype=np.int64))


def _pixels(path: Path, mode: Mode, size: int, by: Filter) -> Bytes | None:
    from PIL import Image

    try:
        with Image.open(path) as image:
            fitted = image.convert(mode)
    except (OSError, SyntaxError, ValueError):  # how Pillow says that a file is damaged
        return None
    if fitted.size != (size, size):
        fitted = fitted.resize((size, size), Image.Resampling[by])
    return np.atleast_3d(np.asarray(fitted, dtype=np.uint8)).transpose(2, 0, 1)
