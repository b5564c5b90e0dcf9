"""Pickles from elsewhere never run code."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mpnet.datasets._pickles import features_and_labels
from mpnet.errors import DataMissing
from tests.mpnet.datasets.conftest import load_partial as load
from tests.mpnet.datasets.conftest import random_images, write_pickle

HELD = random_images(20, 1, 32, 32)


class Call:
    """Pickled, this is an order to call a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.order = function, arguments

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.order


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("core", [b"numpy._core", b"numpy.core"])
def test_arrays_are_read_whatever_wrote_them(protocol: int, core: bytes, tmp_path: Path) -> None:
    written = pickle.dumps({"features": HELD.images, "labels": HELD.labels}, protocol)
    renamed = written.replace(b"numpy._core", core) if protocol < 4 else written
    (tmp_path / "some.pkl").write_bytes(renamed)
    features, labels = features_and_labels(tmp_path / "some.pkl")
    np.testing.assert_array_equal(features, HELD.images)
    np.testing.assert_array_equal(labels, HELD.labels)


def test_labels_may_be_a_list_of_scalars(tmp_path: Path) -> None:
    contents = {"features": HELD.images, "labels": [np.int64(label) for label in HELD.labels]}
    write_pickle(tmp_path / "some.pkl", contents)
    assert features_and_labels(tmp_path / "some.pkl")[1].tolist() == HELD.labels.tolist()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "wrap",
    [
        lambda order: order,
        lambda order: {"features": HELD.images, "labels": order},
        lambda order: {"features": np.array([order], dtype=object), "labels": HELD.labels},
    ],
    ids=["bare", "as labels", "in an array"],
)
@pytest.mark.parametrize(
    "order",
    [
        lambda target: Call(os.mkdir, target),
        lambda target: Call(eval, f"__import__('os').mkdir({target!r})"),
        lambda target: Call(np.save, target, 1),
    ],
    ids=["os", "eval", "numpy"],
)
def test_code_in_a_pickle_is_refused_and_not_run(
    order: Callable[[str], Call], wrap: Callable[[Call], object], protocol: int, tmp_path: Path
) -> None:
    target = tmp_path / "made by the pickle.npy"
    write_pickle(tmp_path / "notmnist_train.pkl", wrap(order(str(target))), protocol)
    with pytest.raises(DataMissing, match="only arrays and plain containers"):
        load("notmnist", "train", tmp_path)
    assert not target.exists()


@pytest.mark.parametrize(
    "held",
    [
        [1, 2],
        {"features": HELD.images},
        {"features": HELD.images / 255, "labels": HELD.labels},
        {"features": HELD.images.astype(int) * 2, "labels": HELD.labels},
        {"features": HELD.images, "labels": HELD.labels[1:]},
        {"features": HELD.images[:0], "labels": HELD.labels[:0]},
        {"features": HELD.images, "labels": ["A"] * 20},
    ],
)
def test_other_contents_are_refused(held: object, tmp_path: Path) -> None:
    write_pickle(tmp_path / "notmnist_train.pkl", held)
    with pytest.raises(DataMissing, match=r"notmnist_train\.pkl must be readable"):
        load("notmnist", "train", tmp_path)


@pytest.mark.parametrize("length", [0, 1, 50, 5000])
def test_a_cut_pickle_is_refused(length: int, tmp_path: Path) -> None:
    written = pickle.dumps({"features": HELD.images, "labels": HELD.labels})
    (tmp_path / "notmnist_train.pkl").write_bytes(written[:length])
    with pytest.raises(DataMissing, match="must be readable"):
        load("notmnist", "train", tmp_path)
