"""What every raw data set has: where its files lie, how they are read, how to get them."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from mpnet.errors import DataMissing
from mpnet.registry import Registry

Part = Literal["train", "test"]
PARTS: tuple[Part, Part] = ("train", "test")
Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


class Images(NamedTuple):
    """Images (n, channels, height, width) and labels 0 ... n_classes - 1."""

    images: Bytes
    labels: Labels


class SourceFile(NamedTuple):
    """A file, or a folder if the path ends in a slash, as its publisher gives it.

    The path is below the data root; the md5 is the official one, if there is one.
    """

    path: str
    size: int | None = None
    md5: str | None = None


@dataclass(frozen=True)
class Layout:
    """One way in which a set may lie below the data root.

    Args:
        files: What must be there to read a part.
        read: From the data root and the part to what it holds.
        is_exact: Whether files with another checksum are refused, rather than accepted with
            a warning if they can be read.
    """

    files: Mapping[Part, tuple[SourceFile, ...]]
    read: Callable[[Path, Part], Images]
    is_exact: bool = False

    def is_complete(self, root: Path, part: Part) -> bool:
        """Whether all that the part needs exists, whatever is in it."""
        return all((root / file.path).exists() for file in self.files[part])


class Download(NamedTuple):
    """How torchvision gets a set: hosts, one of which must answer, and the call itself."""

    urls: tuple[str, ...]
    fetch: Callable[[Path, Part], object]


class KnownSize(NamedTuple):
    """How many images a whole set has.

    Args:
        train: in the training part.
        test: in the test part.
        is_balanced: whether each class has equally many.
        n_unreadable: how many of them nobody can read, in both parts together.
    """

    train: int
    test: int
    is_balanced: bool = False
    n_unreadable: int = 0

    def of(self, part: Part) -> int:
        """The number of images of a part."""
        return self.train if part == "train" else self.test


@dataclass(frozen=True)
class Dataset:
    """A raw data set; layouts in order of preference, `how_to_get` is a sentence for a person.

    A download, if there is one, brings the files of the first layout. Without a known size
    nobody can tell whether a set is whole.
    """

    name: str
    n_classes: int
    shape: tuple[int, int, int]
    how_to_get: str
    layouts: tuple[Layout, ...]
    download: Download | None = None
    known_size: KnownSize | None = None

    def layout(self, root: Path, part: Part) -> Layout | None:
        """The preferred one of those whose files are all there, if any."""
        return next((way for way in self.layouts if way.is_complete(root, part)), None)

    def missing(self, root: Path, part: Part, reason: str = "") -> DataMissing:
        """The error that says what is expected where and how to get it."""
        return DataMissing(
            f"data set '{self.name}', part '{part}': there must be\n  "
            f"{self.expected(root, (part,))}\n"
            f"but there is not{f' ({reason})' if reason else ''}. {self.how_to_get} "
            f"MPNET_DATA names the folder of all data sets; here it is {root}."
        )

    def expected(self, root: Path, parts: Sequence[Part]) -> str:
        """The files that are not there, one in a line, for each way in which they may lie."""
        return "\n  or ".join(_expected(way, root, parts) for way in self.layouts)


DATASETS: Registry[Callable[[], Dataset]] = Registry("data set")


def data_root(chosen: str | Path | None = None) -> Path:
    """The folder in which all data sets live: as chosen, else MPNET_DATA, else ~/.cache/mpnet."""
    default = os.environ.get("MPNET_DATA") or "~/.cache/mpnet"
    return Path(chosen or default).expanduser().absolute()


def dataset(name: str) -> Dataset:
    """The description of a registered set."""
    member = DATASETS[name]()
    assert member.name == name
    return member


def _expected(layout: Layout, root: Path, parts: Sequence[Part]) -> str:
    """The files of a layout that are not there, one per line."""
    files = dict.fromkeys(file for part in parts for file in layout.files[part])
    absent = [file for file in files if not (root / file.path).exists()]
    return "\n  and ".join(describe(file, root) for file in absent)


def files_below(path: Path) -> Iterator[Path]:
    """A file itself, or all files below a folder."""
    if path.is_dir():
        for folder, _, names in os.walk(path):
            yield from (Path(folder, name) for name in names)
    elif path.exists():
        yield path


def describe(file: SourceFile, root: Path) -> str:
    """Absolute path, size and checksum, as far as they are known."""
    size = f"{file.size:,} bytes" if file.size else ""
    facts = ", ".join(filter(None, [size, f"md5 {file.md5}" if file.md5 else ""]))
    return os.path.join(root, file.path) + (f" ({facts})" if facts else "")
