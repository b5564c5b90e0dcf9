"""SVHN: 99,289 house numbers from street photographs, one digit each, 32x32 colour."""

from pathlib import Path

import numpy as np

from mpnet.datasets._base import (
    DATASETS,
    Dataset,
    Download,
    Images,
    KnownSize,
    Layout,
    Part,
    SourceFile,
)
from mpnet.datasets._torchvision import torchvision_class

_URL = "http://ufldl.stanford.edu/housenumbers/"
_FILES: dict[Part, tuple[SourceFile, ...]] = {
    "train": (SourceFile("train_32x32.mat", 182_040_794, "e26dedcc434d2e4c54c9b2d4a06d8373"),),
    "test": (SourceFile("test_32x32.mat", 64_275_384, "eb5a983be6a315427106f1b164d9cef3"),),
}


@DATASETS.register("svhn")
def svhn() -> Dataset:
    """73,257 training and 26,032 test images."""
    return Dataset(
        name="svhn",
        n_classes=10,
        shape=(3, 32, 32),
        how_to_get=f"It is downloaded on first use; or fetch each file from {_URL}.",
        layouts=(Layout(_FILES, _read),),
        download=Download((f"{_URL}test_32x32.mat",), _fetch),
        known_size=KnownSize(73_257, 26_032),
    )


def _fetch(folder: Path, part: Part) -> None:
    torchvision_class("SVHN")(folder, split=part, download=True)


def _read(root: Path, part: Part) -> Images:
    """Read by scipy, since torchvision refuses files with another checksum."""
    import scipy.io  # type: ignore[import-untyped]
    from scipy.io.matlab import MatReadError  # type: ignore[import-untyped]

    try:
        held = scipy.io.loadmat(root / _FILES[part][0].path, variable_names=["X", "y"])
    except MatReadError as error:
        raise ValueError(str(error)) from error
    labels = held["y"].ravel().astype(np.int64)
    # The files call the digit 0 class 10; all others are their own label, so nothing is shifted.
    return Images(held["X"].transpose(3, 2, 0, 1), np.where(labels == 10, 0, labels))
