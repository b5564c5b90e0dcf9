"""What the doctor knows of a data set on this disk."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mpnet.datasets._base import PARTS, Dataset, Images, Part, SourceFile, files_below
from mpnet.datasets._counts import Counts, counts, shortfall
from mpnet.datasets._decoding import decode, differs
from mpnet.datasets._loading import (
    decoded_copy,
    decoded_paths,
    lock,
    make_decoded_copy,
    partial_advice,
)
from mpnet.datasets._misplaced import misplaced
from mpnet.errors import DataMissing

State = Literal["present", "partial", "missing", "damaged"]
Checksum = Literal["ok", "differs", "unknown"]
Found = Counts | DataMissing | None  # of a part: how many, what is wrong, or not read yet


@dataclass(frozen=True)
class Status:
    """One row of the doctor's table; `counts` knows the parts that have been decoded.

    Args:
        known: how many images a part of the whole set has, where that is known.
        advice: what is wrong and what to do about it; empty if all is well.
    """

    name: str
    state: State
    places: tuple[str, ...]
    size: int
    checksum: Checksum
    counts: dict[Part, Counts]
    known: dict[Part, int]
    advice: str


def status(dataset: Dataset, root: Path, check: bool = False) -> Status:
    """Look at the files of a set; with `check` also read all of them."""
    found = {part: _found(dataset, root, part, check) for part in PARTS}
    state, advice = _diagnosis(dataset, root, found)
    sources = _sources(dataset, root)
    paths = [root / file.path for file in sources]
    copies = [path for part in PARTS for path in decoded_paths(dataset, root, part)]
    size = dataset.known_size
    return Status(
        name=dataset.name,
        state=state,
        places=_places(dataset, root),
        size=sum(_size(path) for path in [*paths, *copies]),
        checksum=_checksum(sources, root, check),
        counts={part: n for part, n in found.items() if isinstance(n, Counts)},
        known={part: size.of(part) for part in PARTS} if size else {},
        advice=advice,
    )


def _found(dataset: Dataset, root: Path, part: Part, check: bool) -> Found:
    try:
        images = _part(dataset, root, part, check)
    except DataMissing as error:
        return error
    return None if images is None else counts(dataset, images)


def _part(dataset: Dataset, root: Path, part: Part, check: bool) -> Images | None:
    """The decoded images if they are at hand; the doctor downloads nothing.

    Files of a wrong size are read even if nobody asks for a check.
    """
    layout = dataset.layout(root, part)
    if check and layout is not None:
        with lock(dataset, root):
            return make_decoded_copy(dataset, root, part)
    images = decoded_copy(dataset, root, part)
    if images is None and layout is None:
        raise dataset.missing(root, part)
    if images is None and layout is not None and _has_wrong_size(layout.files[part], root):
        return decode(dataset, root, part)
    return images


def _diagnosis(dataset: Dataset, root: Path, found: Mapping[Part, Found]) -> tuple[State, str]:
    """The worst that is wrong with a set, and all of it in words, each advice once."""
    errors = {part: one for part, one in found.items() if isinstance(one, DataMissing)}
    missing = [part for part in errors if dataset.layout(root, part) is None]
    damage = dict.fromkeys(_without(str(errors[p]), dataset) for p in errors if p not in missing)
    partial = [
        f"part '{part}': {wrong}."
        for part, one in found.items()
        if isinstance(one, Counts) and (wrong := shortfall(dataset, part, one))
    ]
    if not (errors or partial):
        return "present", ""
    state: State = "damaged" if damage else "missing" if missing else "partial"
    lines = [*damage, *partial]
    elsewhere = misplaced(dataset, root, missing) if missing else []
    if missing and not elsewhere:
        lines.append(f"there must be\n  {dataset.expected(root, missing)}")
    advice = partial_advice(dataset) if partial else dataset.how_to_get
    lines += elsewhere if elsewhere and not lines else [*elsewhere, advice]
    return state, "\n".join([f"The set {dataset.name} is {state}:", *lines])


def _without(text: str, dataset: Dataset) -> str:
    """What an error says, but for the way to get the set, which is told once."""
    return text.replace(dataset.how_to_get, "").strip()


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


def _has_wrong_size(files: Iterable[SourceFile], root: Path) -> bool:
    return any(file.size and file.size != _size(root / file.path) for file in files)


def _checksum(files: list[SourceFile], root: Path, check: bool) -> Checksum:
    """Without `check` a wrong size betrays a wrong file, but a right one proves nothing."""
    known = [file for file in files if file.md5]
    if _has_wrong_size(known, root):
        return "differs"
    if not check or not known:
        return "unknown"
    return "differs" if any(differs(file, root) for file in known) else "ok"


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder."""
    return sum(file.stat().st_size for file in files_below(path))
