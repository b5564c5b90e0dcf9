"""Tiny data sets in the official formats."""

import gzip
import hashlib
import pickle
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.io

from mpnet.datasets import PARTS, Images, Part, dataset, load

Array = npt.NDArray[Any]


def load_partial(name: str, part: Part, root: Path | None = None) -> Images:
    """A hand-made set: the test's own numbers of images, and the word that says so."""
    return load(name, part, root, may_be_partial=True)


def write_decoded(root: Path, name: str, parts: Sequence[Part] = PARTS) -> None:
    """Decoded copies of the size of a whole set; black, so that they take no room on the disk."""
    described = dataset(name)
    assert described.known_size is not None
    (root / "decoded").mkdir(parents=True, exist_ok=True)
    for part in parts:
        n = described.known_size.of(part)
        stem = root / "decoded" / f"{name}-{part}-v1"
        np.save(f"{stem}-labels.npy", np.arange(n, dtype=np.int64) % described.n_classes)
        shape = (n, *described.shape)
        np.lib.format.open_memmap(f"{stem}-images.npy", "w+", np.uint8, shape)  # type: ignore[no-untyped-call]


def random_images(n: int, *shape: int, n_classes: int = 10, seed: int = 0) -> Images:
    """Noise (n, *shape) in which every class occurs."""
    generator = np.random.default_rng(seed)
    pixels = generator.integers(1, 256, (n, *shape), dtype=np.uint8)
    return Images(pixels, np.arange(n, dtype=np.int64) % n_classes)


def write_svhn(root: Path, part: Part, held: Images) -> Path:
    """SVHN's format: (32, 32, 3, n) images, and the digit 0 is class 10."""
    labels = np.where(held.labels == 0, 10, held.labels).astype(np.uint8)
    path = root / f"{part}_32x32.mat"
    contents = {"X": held.images.transpose(2, 3, 1, 0), "y": labels[:, np.newaxis]}
    scipy.io.savemat(path, contents, do_compression=True)
    return path


def idx(array: Array) -> bytes:
    """MNIST's format: magic number, sizes, bytes."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return head + array.astype(np.uint8).tobytes()


def idx_files(train: Images, test: Images) -> dict[str, bytes]:
    """The four files of MNIST and its kin."""
    return {
        "train-images-idx3-ubyte": idx(train.images[:, 0]),
        "train-labels-idx1-ubyte": idx(train.labels),
        "t10k-images-idx3-ubyte": idx(test.images[:, 0]),
        "t10k-labels-idx1-ubyte": idx(test.labels),
    }


def write_pickle(path: Path, held: object, protocol: int = 2) -> None:
    """An arbitrary object as a pickle."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(held, protocol))


def md5(contents: bytes) -> str:
    """Of some bytes."""
    return hashlib.md5(contents).hexdigest()


def packed(contents: bytes) -> bytes:
    """As gzip does it, without a time in it."""
    return gzip.compress(contents, mtime=0)


@pytest.fixture
def svhn_root(tmp_path: Path) -> Path:
    """A data root with a small SVHN in it."""
    write_svhn(tmp_path, "train", random_images(30, 3, 32, 32))
    write_svhn(tmp_path, "test", random_images(20, 3, 32, 32, seed=1))
    return tmp_path
