"""The four sets whose files only torchvision's own classes need to understand."""

from pathlib import Path
from typing import Any

import numpy as np

from mpnet.datasets._base import Download, Images, Layout, Part, SourceFile

IDX_SIZES = {
    "train-images-idx3-ubyte": 47_040_016,
    "train-labels-idx1-ubyte": 60_008,
    "t10k-images-idx3-ubyte": 7_840_016,
    "t10k-labels-idx1-ubyte": 10_008,
}


def idx_layout(kind: str, md5s: dict[str, str]) -> Layout:
    """The four files of MNIST and its kin; torchvision reads none unless all are there."""
    files = tuple(SourceFile(f"{kind}/raw/{n}", size, md5s[n]) for n, size in IDX_SIZES.items())

    def read(root: Path, part: Part) -> Images:
        data = torchvision_class(kind)(root, train=part == "train")
        return Images(data.data.numpy()[:, np.newaxis], data.targets.numpy())

    return Layout({"train": files, "test": files}, read, is_exact=True)


def cifar_layout(kind: str, files: tuple[SourceFile, ...]) -> Layout:
    """The pickles of CIFAR; torchvision reads none unless all are there and exact."""

    def read(root: Path, part: Part) -> Images:
        data = torchvision_class(kind)(root, train=part == "train")
        return Images(data.data.transpose(0, 3, 1, 2), np.array(data.targets, dtype=np.int64))

    return Layout({"train": files, "test": files}, read, is_exact=True)


def download_of(kind: str, *urls: str) -> Download:
    """A download of both parts at once, by the constructor of torchvision's class."""
    return Download(urls, lambda folder, part: torchvision_class(kind)(folder, download=True))


def download_and_unpack(url: str, folder: Path, md5: str) -> None:
    """Bring an archive and put what it holds into a folder."""
    from torchvision.datasets.utils import (  # type: ignore[import-untyped]
        download_and_extract_archive,
    )

    download_and_extract_archive(url, str(folder), md5=md5, remove_finished=True)


def torchvision_class(kind: str) -> Any:
    """A class of torchvision.datasets, imported late because that takes seconds."""
    import torchvision.datasets  # type: ignore[import-untyped]

    return getattr(torchvision.datasets, kind)
