"""What the doctor knows of a data set on this disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from mpnet.datasets._base import PARTS, Dataset, Images, Part, SourceFile, files_below
from mpnet.datasets._decoding import differs
from mpnet.datasets._loading import decoded_copy, decoded_paths, lock, make_decoded_copy
from mpnet.errors import DataMissing

State = Literal["present", "missing", "unreadable"]
Checksum = Literal["ok", "differs", "unknown"]


@dataclass(frozen=True)
class Counts:
    """How many images a part has, in all and in its smallest and largest class."""

    images: int
    smallest_class: int
    largest_class: int


@dataclass(frozen=True)
class Status:
    """One row of the doctor's table; `counts` knows the parts that have been decoded."""

    name: str
    state: State
    places: tuple[str, ...]
    size: int
    checksum: Checksum
    counts: dict[Part, Counts]
    advice: str


def status(dataset: Dataset, root: Path, check: bool = False) -> Status:
    """Look at the files of a set; with `check` also read all of them."""
    state, advice, decoded = _parts(dataset, root, check)
    sources = _sources(dataset, root)
    paths = [root / file.path for file in sources]
    copies = [path for part in PARTS for path in decoded_paths(dataset, root, part)]
    return Status(
        name=dataset.name,
        state=state,
        places=_places(dataset, root),
        size=sum(_size(path) for path in [*paths, *copies]),
        checksum=_checksum(sources, root, check),
        counts={part: _counts(images, dataset.n_classes) for part, images in decoded.items()},
        advice=advice,
    )


def _parts(dataset: Dataset, root: Path, check: bool) -> tuple[State, str, dict[Part, Images]]:
    state: State = "present"
    advice: dict[object, str] = {}  # once for parts that need the same files
    decoded: dict[Part, Images] = {}
    for part in PARTS:
        try:
            images = _part(dataset, root, part, check)
        except DataMissing as error:
            state = "missing" if dataset.layout(root, part) is None else "unreadable"
            advice.setdefault(tuple(way.files[part] for way in dataset.layouts), str(error))
        else:
            decoded |= {part: images} if images is not None else {}
    return state, "\n".join(advice.values()), decoded


def _part(dataset: Dataset, root: Path, part: Part, check: bool) -> Images | None:
    """The decoded images if they are at hand; the doctor downloads nothing."""
    has_sources = dataset.layout(root, part) is not None
    if check and has_sources:
        with lock(dataset, root):
            return make_decoded_copy(dataset, root, part)
    images = decoded_copy(dataset, root, part)
    if images is None and not has_sources:
        raise dataset.missing(root, part)
    return images


def _sources(dataset: Dataset, root: Path) -> list[SourceFile]:
    """The files that both parts are read from, each once."""
    layouts = [(part, dataset.layout(root, part)) for part in PARTS]
    files = [file for part, layout in layouts if layout for file in layout.files[part]]
    return list(dict.fromkeys(files))


def _places(dataset: Dataset, root: Path) -> tuple[str, ...]:
    """The folders and files below the root that hold the sources, or what there is instead."""
    layouts = [dataset.layout(root, part) for part in PARTS]
    if all(layout and not layout.files[part] for part, layout in zip(PARTS, layouts, strict=True)):
        return ("built in",)
    tops = dict.fromkeys(file.path.split("/")[0] for file in _sources(dataset, root))
    has_copy = any(path.exists() for path in decoded_paths(dataset, root, "train"))
    return tuple(tops) or (("decoded",) if has_copy else ())


def _checksum(files: list[SourceFile], root: Path, check: bool) -> Checksum:
    """Without `check` a wrong size betrays a wrong file, but a right one proves nothing."""
    known = [file for file in files if file.md5]
    if any(file.size and file.size != _size(root / file.path) for file in known):
        return "differs"
    if not check or not known:
        return "unknown"
    return "differs" if any(differs(file, root) for file in known) else "ok"


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    return sum(file.stat().st_size for file in files_below(path))


def _counts(images: Images, n_classes: int) -> Counts:
    per_class = np.bincount(images.labels, minlength=n_classes)
    return Counts(len(images.labels), int(per_class.min()), int(per_class.max()))
