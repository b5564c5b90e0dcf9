"""A data set of one's own: a folder of pictures for each class, in `train/` and `test/` or not."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from mpnet.datasets._base import PARTS, Dataset, Images, Layout, Part, SourceFile, data_root
from mpnet.datasets._pictures import Picture, files_in, read_pictures
from mpnet.errors import ConfigError, DataMissing

_TEST_SHARE = 0.2  # where the folder has no parts
_HOW_TO_GET = "Put one folder of pictures for each class there, or train/ and test/ of them."


def class_names(folder: str, root: str | None) -> list[str]:
    """The classes of a folder, sorted by name; both of its parts must have the same.

    Raises:
        DataMissing: there is no such folder.
        ConfigError: it does not hold classes.
    """
    place = data_root(root) / folder
    if not place.is_dir():
        raise DataMissing(f"image_folder: {place}: must be a folder, but is not. {_HOW_TO_GET}")
    known = [_folders_in(top) for top in _tops(place)]
    if len(known[0]) < 2 or any(names != known[0] for names in known):
        got = "; ".join(f"{len(names)}: {', '.join(names[:5])}" for names in known)
        must = "must hold the same two or more folders of classes in every part"
        raise ConfigError(f"image_folder: {place}: {must}, but got {got}. {_HOW_TO_GET}")
    return known[0]


def image_folder(
    folder: str, size: int, n_channels: Literal[1, 3], root: str | None = None
) -> Dataset:
    """The pictures of a folder below the data root, all made size x size."""
    names, place = class_names(folder, root), data_root(root) / folder
    has_parts = len(_tops(place)) > 1
    files = {
        part: tuple(
            SourceFile(f"{folder}/{part}/{name}/" if has_parts else f"{folder}/{name}/")
            for name in names
        )
        for part in PARTS
    }
    read = partial(_read, files, size, n_channels, has_parts)
    key = hashlib.sha256(f"{place} {names}".encode()).hexdigest()[:8]
    return Dataset(
        name=f"image_folder-{Path(folder).name}-{key}-{n_channels}x{size}",
        n_classes=len(names),
        shape=(n_channels, size, size),
        how_to_get=_HOW_TO_GET,
        layouts=(Layout(files, read),),
    )


def _tops(place: Path) -> list[Path]:
    """The folders that hold those of the classes."""
    parts = [place / part for part in PARTS]
    return parts if all(part.is_dir() for part in parts) else [place]


def _folders_in(place: Path) -> list[str]:
    return sorted(p.name for p in place.iterdir() if p.is_dir() and not p.name.startswith("."))


def _read(
    files: dict[Part, tuple[SourceFile, ...]],
    size: int,
    n_channels: int,
    has_parts: bool,
    root: Path,
    part: Part,
) -> Images:
    pictures = []
    for label, file in enumerate(files[part]):
        paths = files_in(root / file.path)
        chosen = paths if has_parts else _drawn(paths, part)
        pictures += [Picture(path, label) for path in chosen]
    return read_pictures(pictures, "L" if n_channels == 1 else "RGB", size, by="BILINEAR")


def _drawn(paths: list[Path], part: Part) -> list[Path]:
    """A fixed fifth of a class for the test part, the rest for training; in order."""
    order = np.random.default_rng(0).permutation(len(paths))
    n_test = round(_TEST_SHARE * len(paths))
    chosen = order[:n_test] if part == "test" else order[n_test:]
    return [paths[i] for i in sorted(chosen)]
