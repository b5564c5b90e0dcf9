"""SVHN, GTSRB, notMNIST and FaceScrub from files that somebody put there, traps included."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
import sklearn.model_selection
import torch
import torchvision.datasets as official
import torchvision.transforms.v2.functional as transforms
from PIL import Image

from mpnet.datasets import Images, Part
from mpnet.errors import DataMissing
from tests.mpnet.datasets.conftest import load_partial as load
from tests.mpnet.datasets.conftest import random_images, write_pickle, write_svhn


def write_picture(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


# SVHN


def test_svhn_label_10_is_the_digit_0_and_no_label_is_shifted(tmp_path: Path) -> None:
    write_svhn(tmp_path, "train", random_images(20, 3, 32, 32))
    assert load("svhn", "train", tmp_path).labels.tolist() == [*range(10)] * 2


def test_svhn_with_another_checksum_is_used_with_a_warning(
    svhn_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    load("svhn", "train", svhn_root)
    assert "another checksum" in caplog.text and "e26dedcc434d2e4c54c9b2d4a06d8373" in caplog.text


@pytest.mark.parametrize("contents", [b"", b"no MATLAB file", b"MATLAB 5.0 MAT-file" * 20])
def test_an_svhn_file_that_cannot_be_read_is_refused(contents: bytes, tmp_path: Path) -> None:
    (tmp_path / "train_32x32.mat").write_bytes(contents)
    with pytest.raises(DataMissing, match="must be readable"):
        load("svhn", "train", tmp_path)


def test_a_cut_svhn_file_is_refused(svhn_root: Path) -> None:
    path = svhn_root / "train_32x32.mat"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(DataMissing, match="must be readable"):
        load("svhn", "train", svhn_root)


def test_labels_that_no_class_has_are_refused(tmp_path: Path) -> None:
    write_svhn(tmp_path, "train", random_images(20, 3, 32, 32, n_classes=13))
    with pytest.raises(DataMissing, match=r"labels must be 0 \.\.\. 9, but are 0 \.\.\. 12"):
        load("svhn", "train", tmp_path)


# GTSRB


@pytest.fixture
def gtsrb_root(tmp_path: Path) -> Path:
    """Signs of many sizes in torchvision's folders."""
    generator = np.random.default_rng(0)
    folder = tmp_path / "gtsrb"
    rows = []
    for i in range(43):
        size = (15 + 3 * i, 20 + 2 * i, 3)
        for path in (f"Training/{i:05d}/00000_00000.ppm", f"Final_Test/Images/{i:05d}.ppm"):
            pixels = generator.integers(0, 256, size, dtype=np.uint8)
            write_picture(folder / "GTSRB" / path, pixels)
        rows.append({"Filename": f"{i:05d}.ppm", "Width": 1, "ClassId": (i * 7) % 43})
    with (folder / "GT-final_test.csv").open("w", newline="") as stream:
        table = csv.DictWriter(stream, ["Filename", "Width", "ClassId"], delimiter=";")
        table.writeheader()
        table.writerows(rows)
    return tmp_path


@pytest.mark.parametrize("part", ["train", "test"])
def test_gtsrb_folders_give_what_torchvision_reads_and_resizes(
    part: Part, gtsrb_root: Path
) -> None:
    got = load("gtsrb", part, gtsrb_root)
    for i, (picture, label) in enumerate(official.GTSRB(gtsrb_root, split=part)):
        pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
        resized = transforms.resize(pixels, [32, 32], antialias=True)
        np.testing.assert_allclose(got.images[i].astype(int), resized.numpy().astype(int), atol=1)
        assert got.labels[i] == label


@pytest.mark.parametrize("part", ["train", "test"])
def test_gtsrb_archives_give_the_same_as_folders(
    part: Part, gtsrb_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = load("gtsrb", part, gtsrb_root)
    other = gtsrb_root / "other"
    (other / "gtsrb").mkdir(parents=True)
    for name, folder, top in [
        ("GTSRB-Training_fixed", "gtsrb", "GTSRB/Training"),
        ("GTSRB_Final_Test_Images", "gtsrb", "GTSRB/Final_Test"),
        ("GTSRB_Final_Test_GT", "gtsrb", "GT-final_test.csv"),
    ]:
        shutil.make_archive(str(other / "gtsrb" / name), "zip", gtsrb_root / folder, top)
    got = load("gtsrb", part, other)
    np.testing.assert_array_equal(got.images, expected.images)
    np.testing.assert_array_equal(got.labels, expected.labels)
    assert "another checksum" in caplog.text
    assert {path.name for path in other.iterdir()} == {"gtsrb", "decoded"}


def test_gtsrb_pickles_are_turned_from_height_width_channels(tmp_path: Path) -> None:
    held = random_images(86, 32, 32, 3, n_classes=43)
    contents = {"features": held.images, "labels": held.labels.astype(np.uint8), "sizes": [1]}
    write_pickle(tmp_path / "gtsrb" / "train.p", contents)
    got = load("gtsrb", "train", tmp_path)
    np.testing.assert_array_equal(got.images, held.images.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(got.labels, held.labels)


def test_gtsrb_pickles_that_hold_some_training_images_apart_are_read_together(
    tmp_path: Path,
) -> None:
    held = random_images(86, 32, 32, 3, n_classes=43)
    for name, chosen in (("train", slice(60)), ("valid", slice(60, None))):
        contents = {"features": held.images[chosen], "labels": held.labels[chosen]}
        write_pickle(tmp_path / "gtsrb" / f"{name}.p", contents)
    got = load("gtsrb", "train", tmp_path)
    np.testing.assert_array_equal(got.images, held.images.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(got.labels, held.labels)


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_official_layout_of_gtsrb_gives_the_same_as_torchvisions(
    part: Part, gtsrb_root: Path
) -> None:
    expected = load("gtsrb", part, gtsrb_root)
    official_root = gtsrb_root / "official"
    shutil.copytree(gtsrb_root / "gtsrb", official_root)
    (official_root / "GTSRB" / "Final_Training").mkdir()
    (official_root / "GTSRB" / "Training").rename(
        official_root / "GTSRB" / "Final_Training" / "Images"
    )
    got = load("gtsrb", part, official_root)
    np.testing.assert_array_equal(got.images, expected.images)
    np.testing.assert_array_equal(got.labels, expected.labels)


@pytest.mark.parametrize("n_left", [2, 3])
def test_gtsrb_without_some_of_its_folders_is_refused(n_left: int, gtsrb_root: Path) -> None:
    for folder in sorted((gtsrb_root / "gtsrb" / "GTSRB" / "Training").iterdir())[n_left:]:
        shutil.rmtree(folder)
    with pytest.raises(DataMissing, match=f"each of 43 classes, but has {n_left}"):
        load("gtsrb", "train", gtsrb_root)


# notMNIST


@pytest.fixture
def notmnist_root(tmp_path: Path) -> Path:
    """Twelve letters a class, as bright as their label; one damaged, one blank."""
    folder = tmp_path / "notMNIST_small"
    for label, letter in enumerate("ABCDEFGHIJ"):
        for i in range(12):
            pixels = np.full((28, 28), 20 * (label + 1), dtype=np.uint8)
            write_picture(folder / letter / f"{i:02d}.png", pixels)
    (folder / "A" / "03.png").write_bytes(b"not a picture")
    write_picture(folder / "B" / "05.png", np.zeros((28, 28), dtype=np.uint8))
    (folder / "C" / "._01.png").write_bytes(b"left by a file manager")
    return tmp_path


def test_notmnist_letters_are_labelled_in_alphabetical_order(notmnist_root: Path) -> None:
    for part in ("train", "test"):
        got = load("notmnist", part, notmnist_root)
        assert got.images.shape[1:] == (1, 32, 32)
        assert (got.images == 20 * (got.labels[:, None, None, None] + 1)).all()


def test_a_tenth_of_notmnist_is_for_the_test_as_in_the_known_conversion(
    notmnist_root: Path,
) -> None:
    paths = sorted((notmnist_root / "notMNIST_small").glob("*/[!.]*.png"))
    _, held_out = sklearn.model_selection.train_test_split(paths, test_size=0.1, random_state=42)
    readable = [p for p in held_out if (p.parent.name, p.name) not in LEFT_OUT]
    expected = ["ABCDEFGHIJ".index(path.parent.name) for path in readable]
    assert load("notmnist", "test", notmnist_root).labels.tolist() == expected


LEFT_OUT = {("A", "03.png"), ("B", "05.png")}


def test_damaged_and_blank_letters_are_left_out_with_a_warning(
    notmnist_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parts = [load("notmnist", part, notmnist_root) for part in ("train", "test")]
    labels = np.concatenate([part.labels for part in parts])
    assert np.bincount(labels).tolist() == [11, 11] + [12] * 8
    assert "cannot be read" in caplog.text and "03.png" in caplog.text


def test_pictures_that_are_added_to_a_folder_are_seen(notmnist_root: Path) -> None:
    n_before = len(load("notmnist", "train", notmnist_root).labels)
    for i in range(40):
        pixels = np.full((28, 28), 20, dtype=np.uint8)
        write_picture(notmnist_root / "notMNIST_small" / "A" / f"new{i:02d}.png", pixels)
    assert len(load("notmnist", "train", notmnist_root).labels) == n_before + 36


def test_notmnist_without_a_letter_is_refused(notmnist_root: Path) -> None:
    shutil.rmtree(notmnist_root / "notMNIST_small" / "G")
    with pytest.raises(DataMissing, match="notMNIST_small/G"):
        load("notmnist", "train", notmnist_root)


def test_the_blank_images_in_the_notmnist_pickles_are_dropped(tmp_path: Path) -> None:
    held = random_images(22, 1, 32, 32)
    held.images[-2:], held.labels[-2:] = 0, 0
    contents = {"features": held.images, "labels": held.labels.astype(np.uint8)}
    write_pickle(tmp_path / "notmnist_train.pkl", contents, protocol=4)
    got = load("notmnist", "train", tmp_path)
    np.testing.assert_array_equal(got.images, held.images[:-2])
    np.testing.assert_array_equal(got.labels, held.labels[:-2])


# FaceScrub


@pytest.mark.parametrize("stored_as", [np.int8, np.uint8, np.int64])
def test_the_scramble_of_the_facescrub_pickles_is_undone(
    stored_as: type[np.generic], tmp_path: Path
) -> None:
    faces = random_images(200, 32, 32, 3, n_classes=100)
    scrambled = np.stack([face.reshape(3, 32, 32) for face in faces.images]).astype(stored_as)
    contents = {"features": scrambled, "labels": faces.labels.astype(np.int8)}
    write_pickle(tmp_path / "facescrub_test_100.pkl", contents)
    got = load("facescrub", "test", tmp_path)
    np.testing.assert_array_equal(got.images, faces.images.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(got.labels, faces.labels)


@pytest.fixture
def facescrub_root(tmp_path: Path) -> Path:
    """103 people with two pictures, but one for the 5th, 50th and last; red is their number."""
    for i in range(103):
        pixels = np.full((40, 36, 3), (i, 100, 200), dtype=np.uint8)
        for j in range(1 if i in (5, 50, 102) else 2):
            write_picture(tmp_path / "facescrub" / f"person {i:03d}" / f"{j}.png", pixels)
    return tmp_path


def test_the_people_with_most_pictures_are_labelled_by_their_names(facescrub_root: Path) -> None:
    parts = [load("facescrub", part, facescrub_root) for part in ("train", "test")]
    assert [len(part.labels) for part in parts] == [180, 20]
    both = Images(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    chosen = [i for i in range(103) if i not in (5, 50, 102)]
    assert [chosen[label] for label in both.labels] == both.images[:, 0, 0, 0].tolist()
    assert (both.images[:, 1:] == np.array([100, 200])[:, None, None]).all()


def test_facescrub_with_too_few_people_is_refused(facescrub_root: Path) -> None:
    for i in range(4):
        shutil.rmtree(facescrub_root / "facescrub" / f"person {i:03d}")
    with pytest.raises(DataMissing, match="100 people or more, but has 99"):
        load("facescrub", "train", facescrub_root)


# digits


def test_the_digits_are_split_into_four_fifths_and_one_fifth_of_each_class(
    tmp_path: Path,
) -> None:
    train, test = (load("digits", part, tmp_path) for part in ("train", "test"))
    known, hidden = np.bincount(train.labels), np.bincount(test.labels)
    assert known.sum() + hidden.sum() == 1797
    np.testing.assert_array_equal(hidden, np.round(0.2 * (known + hidden)))
