"""The real files, where somebody has put them: known counts and brightness."""

from pathlib import Path

import numpy as np
import pytest

from mpnet.datasets import PARTS, Part, data_root, dataset, load

# Per set: images in the training and test parts, mean brightness of each channel in training.
KNOWN: dict[str, tuple[int, int, list[float]]] = {
    "mnist": (60_000, 10_000, [0.1307]),
    "fashion_mnist": (60_000, 10_000, [0.2860]),
    "cifar10": (50_000, 10_000, [0.4914, 0.4822, 0.4465]),
    "cifar100": (50_000, 10_000, [0.5071, 0.4865, 0.4409]),
    "svhn": (73_257, 26_032, [0.4377, 0.4438, 0.4728]),
}
# Images of each class, from the descriptions of the sets.
BALANCED = {"fashion_mnist": (6000, 1000), "cifar10": (5000, 1000), "cifar100": (500, 100)}


def real_root(name: str, part: Part, scratch: Path) -> Path:
    """The user's files in a root of its own, so that nothing is written beside them."""
    source = data_root()
    layout = dataset(name).layout(source, part)
    if layout is None:
        pytest.skip(f"{name} is not in {source}")
    for top in {file.path.split("/")[0] for file in layout.files[part]}:
        (scratch / top).symlink_to(source / top)
    return scratch


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", KNOWN)
def test_a_real_set_has_its_known_size_and_brightness(
    name: str, part: Part, tmp_path: Path
) -> None:
    held = load(name, part, real_root(name, part, tmp_path))
    n_train, n_test, mean = KNOWN[name]
    assert len(held.labels) == (n_train if part == "train" else n_test)
    tolerance = 6e-5 if part == "train" else 0.02
    np.testing.assert_allclose(held.images.mean((0, 2, 3)) / 255, mean, atol=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", BALANCED)
def test_a_balanced_set_has_equally_many_of_each_class(
    name: str, part: Part, tmp_path: Path
) -> None:
    held = load(name, part, real_root(name, part, tmp_path))
    expected = BALANCED[name][part == "test"]
    assert np.bincount(held.labels).tolist() == [expected] * dataset(name).n_classes


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_mnist_has_its_known_digits(part: Part, tmp_path: Path) -> None:
    known = {
        "train": [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        "test": [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    }
    held = load("mnist", part, real_root("mnist", part, tmp_path))
    assert np.bincount(held.labels).tolist() == known[part]
