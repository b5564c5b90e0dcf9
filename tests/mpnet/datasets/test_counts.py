"""Known sets have known numbers of images; others are used only if one says so."""

from pathlib import Path

import numpy as np
import pytest

from mpnet.datasets import DATASETS, PARTS, Part, dataset, load
from mpnet.datasets._counts import counts, shortfall
from mpnet.errors import DataMissing
from tests.mpnet.datasets.conftest import load_partial, random_images, write_decoded, write_svhn

KNOWN = {
    "mnist": (60_000, 10_000),
    "fashion_mnist": (60_000, 10_000),
    "cifar10": (50_000, 10_000),
    "cifar100": (50_000, 10_000),
    "svhn": (73_257, 26_032),
    "gtsrb": (39_209, 12_630),
    "notmnist": (16_853, 1_873),
    "digits": (1_438, 359),
}


def wrong(name: str, n: int, classes: int | None = None, part: Part = "train") -> str | None:
    """What is told of so many images, of some classes in turn."""
    described = dataset(name)
    found = random_images(n, 1, 1, 1, n_classes=classes or described.n_classes)
    return shortfall(described, part, counts(described, found))


def test_all_sets_but_one_have_known_sizes() -> None:
    sizes = {name: dataset(name).known_size for name in DATASETS}
    assert {name: size[:2] for name, size in sizes.items() if size} == KNOWN
    assert set(sizes) - set(KNOWN) == {"facescrub"}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", KNOWN)
def test_only_the_known_number_is_whole(name: str, part: Part) -> None:
    n = KNOWN[name][part == "test"]
    assert wrong(name, n, part=part) is None
    for other in (n + 1, n - 3):
        assert f"there must be {n:,} images" in str(wrong(name, other, part=part))


@pytest.mark.parametrize(("n", "is_whole"), [(16_853, True), (16_851, True), (16_850, False)])
def test_the_two_letters_that_nobody_can_read_may_lack(n: int, is_whole: bool) -> None:
    assert (wrong("notmnist", n) is None) is is_whole


def test_classes_without_images_are_counted() -> None:
    text = wrong("gtsrb", 382, classes=2)
    assert text is not None
    assert "must be 39,209 images, but there are 382, 0 to 191 of a class" in text
    assert text.endswith("; 41 of 43 classes have none")


def test_as_many_images_of_other_classes_are_not_the_whole_set() -> None:
    text = wrong("cifar100", 50_000, classes=99)
    assert "50,000 images, 500 of each class, but there are 50,000, 0 to 506" in str(text)


def test_a_partial_set_is_refused_with_its_numbers_and_the_word(svhn_root: Path) -> None:
    with pytest.raises(DataMissing) as error:
        load("svhn", "train", svhn_root)
    text = f"data set 'svhn', part 'train', in {svhn_root}: there must be 73,257 images, but there"
    assert f"{text} are 30, 3 of each class." in str(error.value)
    assert "use what is there: benchmark.partial_data=[svhn]" in str(error.value)


def test_a_partial_set_is_used_with_the_word_and_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_svhn(tmp_path, "train", random_images(50, 3, 32, 32))
    for _ in range(2):
        assert len(load_partial("svhn", "train", tmp_path).labels) == 50
    assert caplog.text.count("part 'train': partial data: there must be 73,257 images") == 1


def test_a_whole_set_is_used_without_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_decoded(tmp_path, "cifar100")
    for part in PARTS:
        held = load("cifar100", part, tmp_path)
        assert set(np.bincount(held.labels)) == {500 if part == "train" else 100}
    assert not caplog.text
