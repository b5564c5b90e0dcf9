"""Sets that torchvision reads: its own tables and readers are the oracle."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import torchvision.datasets as official

from mpnet.datasets import Part, cifar10, cifar100, dataset, gtsrb, svhn
from mpnet.datasets import fashion_mnist as fashion_module
from mpnet.datasets import mnist as mnist_module
from mpnet.datasets._base import SourceFile
from mpnet.errors import DataMissing
from tests.mpnet.datasets.conftest import idx_files, md5, random_images, write_pickle
from tests.mpnet.datasets.conftest import load_partial as load

TRAIN, TEST = random_images(25, 1, 28, 28), random_images(15, 1, 28, 28, seed=1)


@pytest.fixture(params=[("mnist", "MNIST"), ("fashion_mnist", "FashionMNIST")])
def idx_set(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Path]:
    """The name of a set like MNIST and the folder with its tiny files."""
    name, folder = request.param
    contents = idx_files(TRAIN, TEST)
    module = mnist_module if name == "mnist" else fashion_module
    monkeypatch.setattr(module, "_MD5", {file: md5(data) for file, data in contents.items()})
    raw = tmp_path / folder / "raw"
    raw.mkdir(parents=True)
    for file, data in contents.items():
        (raw / file).write_bytes(data)
    return name, raw


@pytest.mark.parametrize(("part", "expected"), [("train", TRAIN), ("test", TEST)])
def test_idx_files_are_read_as_they_are(
    idx_set: tuple[str, Path], part: Part, expected: tuple[object, object]
) -> None:
    name, raw = idx_set
    for got, wanted in zip(load(name, part, raw.parents[1]), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_a_cut_idx_file_is_refused_with_both_checksums(idx_set: tuple[str, Path]) -> None:
    name, raw = idx_set
    path = raw / "train-images-idx3-ubyte"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    with pytest.raises(DataMissing) as error:
        load(name, "train", raw.parents[1])
    for fact in (
        str(path),
        md5(whole),
        md5(whole[:-5]),
        f"{len(whole) - 5:,} bytes",
        "It is damaged: delete it and get it again.",
    ):
        assert fact in str(error.value)


@pytest.mark.parametrize(("part", "n"), [("train", 20), ("test", 10)])
@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_cifar_pickles_are_read_as_they_are(
    name: str, part: Part, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = cifar10 if name == "cifar10" else cifar100
    kind = official.CIFAR10 if name == "cifar10" else official.CIFAR100
    label_key = "labels" if name == "cifar10" else "fine_labels"
    files = ["train", "more", "test"] if name == "cifar10" else ["train", "test"]
    held = random_images(10, 3, 32, 32)
    for file in files:
        entry = {"data": held.images.reshape(10, -1), label_key: held.labels.tolist()}
        write_pickle(tmp_path / kind.base_folder / file, entry)
    write_pickle(tmp_path / kind.base_folder / "meta", {kind.meta["key"]: list("abcdefghij")})
    sums = {f: md5((tmp_path / kind.base_folder / f).read_bytes()) for f in [*files, "meta"]}
    sources = tuple(SourceFile(f"{kind.base_folder}/{f}", md5=sums[f]) for f in sums)
    monkeypatch.setattr(module, "_FILES", sources)
    monkeypatch.setattr(kind, "train_list", [[f, sums[f]] for f in files[:-1]])
    monkeypatch.setattr(kind, "test_list", [["test", sums["test"]]])
    monkeypatch.setattr(kind, "meta", {**kind.meta, "filename": "meta", "md5": sums["meta"]})
    got = load(name, part, tmp_path)
    copies = len(files) - 1 if part == "train" else 1
    np.testing.assert_array_equal(got.images, np.concatenate([held.images] * copies))
    np.testing.assert_array_equal(got.labels, np.concatenate([held.labels] * copies))


@pytest.mark.parametrize(
    ("name", "kind"), [("cifar10", official.CIFAR10), ("cifar100", official.CIFAR100)]
)
def test_the_checksums_of_cifar_are_torchvisions(name: str, kind: type) -> None:
    lists = [*kind.train_list, *kind.test_list]  # type: ignore[attr-defined]
    meta = kind.meta  # type: ignore[attr-defined]
    expected = dict([*lists, [meta["filename"], meta["md5"]]])
    files = dataset(name).layouts[0].files["train"]
    assert {Path(file.path).name: file.md5 for file in files} == expected
    assert kind.tgz_md5 in dataset(name).how_to_get  # type: ignore[attr-defined]


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_checksums_of_svhn_are_torchvisions(part: Part) -> None:
    (file,) = svhn.svhn().layouts[0].files[part]
    assert [file.path, file.md5] == official.SVHN.split_list[part][1:]


@pytest.mark.parametrize("part", ["train", "test"])
def test_the_checksums_of_gtsrb_are_torchvisions(part: Part) -> None:
    source = inspect.getsource(official.GTSRB.download)
    (archives,) = [way for way in gtsrb.gtsrb().layouts if way.files[part][0].md5]
    for file in archives.files[part]:
        assert Path(file.path).name in source and str(file.md5) in source
    for name, checksum in gtsrb._PUBLISHED["test"].items():
        assert name in source and checksum in source
