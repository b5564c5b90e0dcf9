"""The doctor as a person meets it."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mpnet.datasets import DATASETS, __main__, _torchvision, mnist
from mpnet.datasets.__main__ import main
from tests.mpnet.datasets.conftest import (
    idx_files,
    md5,
    random_images,
    write_decoded,
    write_pickle,
)
from tests.mpnet.datasets.conftest import load_partial as load


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, eighty columns."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")


def rows(text: str) -> dict[str, str]:
    """By set, both lines of its row in the table."""
    lines = text.splitlines()
    starts = {line.split()[0]: i for i, line in enumerate(lines) if line.split()[:1]}
    return {name: "\n".join(lines[starts[name] :][:2]) for name in DATASETS if name in starts}


def test_an_empty_root_lacks_all_but_the_built_in_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(tmp_path)]) == 1
    table = rows(capsys.readouterr().out)
    assert set(table) == set(DATASETS)
    assert "built in" in table.pop("digits")
    assert all("missing" in row for row in table.values())


def test_for_a_missing_set_it_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--root", str(tmp_path)])
    out = capsys.readouterr().out
    for name in ("train_32x32.mat", "test_32x32.mat"):
        assert str(tmp_path / name) in out
    assert "http://ufldl.stanford.edu/housenumbers/" in out
    assert out.count(str(tmp_path / "cifar-100-python" / "meta")) == 1


def test_it_downloads_and_writes_nothing_when_it_only_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--root", str(tmp_path / "root")])
    assert not (tmp_path / "root").exists()


def test_it_counts_what_has_been_decoded(
    svhn_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--root", str(svhn_root)])
    capsys.readouterr()
    load("svhn", "train", svhn_root)
    load("svhn", "test", svhn_root)
    main(["--root", str(svhn_root)])
    row = rows(capsys.readouterr().out)["svhn"]
    assert all(fact in row for fact in ("partial", "30 of 73,257", "3-3", "20 of 26,032", "2-2"))


def test_check_reads_everything_and_compares_checksums(
    svhn_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(svhn_root), "--check"]) == 1
    table = rows(capsys.readouterr().out)
    assert "md5 differs" in table["svhn"] and "3-3" in table["svhn"]
    assert "partial" in table["svhn"]
    assert "1,438" in table["digits"] and "md5 unknown" in table["digits"]


def test_check_finds_an_unreadable_file_and_goes_on(
    svhn_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (svhn_root / "train_32x32.mat").write_bytes(b"no MATLAB file")
    assert main(["--root", str(svhn_root), "--check"]) == 1
    out = capsys.readouterr().out
    assert "damaged" in rows(out)["svhn"]
    assert "train_32x32.mat must be readable" in out
    assert "Traceback" not in out


def test_the_exit_code_is_0_when_all_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(__main__, "DATASETS", ["digits"])
    assert main(["--root", str(tmp_path)]) == 0


def test_a_decoded_copy_counts_as_present(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(__main__, "DATASETS", ["svhn"])
    write_decoded(tmp_path, "svhn")
    assert main(["--root", str(tmp_path)]) == 0
    assert "present" in rows(capsys.readouterr().out)["svhn"]


@pytest.mark.parametrize("arguments", [["--rot", "/"], ["mnist"], ["--root", __file__]])
def test_wrong_arguments_end_with_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])
    assert end.value.code == 0
    assert "python -m mpnet.datasets --check" in capsys.readouterr().out


# Diagnoses


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Leaves one set to look at."""
    return lambda name: monkeypatch.setattr(__main__, "DATASETS", [name])


def looked(root: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """What the doctor says of a root where not all is well."""
    assert main(["--root", str(root), *options]) == 1
    return capsys.readouterr().out


def write_mnist(folder: Path, n: int = 10) -> dict[str, bytes]:
    """Files with the names of MNIST's, of another size."""
    contents = idx_files(random_images(n, 1, 28, 28), random_images(n, 1, 28, 28))
    folder.mkdir(parents=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return contents


@pytest.mark.parametrize("options", [[], ["--check"]])
def test_a_truncated_mnist_is_damaged_and_to_be_got_again(
    options: list[str],
    tmp_path: Path,
    only: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    only("mnist")
    write_mnist(tmp_path / "MNIST" / "raw")
    said = looked(tmp_path, capsys, *options)
    assert "damaged" in rows(said)["mnist"]
    assert said.count("train-images-idx3-ubyte (47,040,016 bytes, md5 6bbc9ace8") == 1
    assert "but the file there has 7,856 bytes, md5" in said
    assert said.count("It is damaged: delete it and get it again.") == 1
    assert said.count("It is downloaded on first use") == 1


@pytest.mark.parametrize("name", ["train", "test", "meta"])
def test_a_truncated_cifar100_is_damaged_by_its_sizes_alone(
    name: str, tmp_path: Path, only: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    only("cifar100")
    sizes = {"train": 155_249_918, "test": 31_049_707, "meta": 1_473}
    (tmp_path / "cifar-100-python").mkdir()
    for file, size in sizes.items():
        (tmp_path / "cifar-100-python" / file).touch()
        os.truncate(tmp_path / "cifar-100-python" / file, size - (file == name))
    said = looked(tmp_path, capsys)
    assert "damaged" in rows(said)["cifar100"] and "md5 differs" in rows(said)["cifar100"]
    assert said.count("It is damaged: delete it and get it again.") == 1


def test_a_truncated_svhn_is_damaged_without_a_check(
    svhn_root: Path, only: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    only("svhn")
    path = svhn_root / "train_32x32.mat"
    path.write_bytes(path.read_bytes()[:-1000])
    said = looked(svhn_root, capsys)
    assert "damaged" in rows(said)["svhn"]
    assert "train_32x32.mat must be readable, but is not: " in said
    assert "It is damaged: replace it or get it again." in said


def test_misplaced_files_are_named_with_their_places(
    tmp_path: Path,
    only: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only("mnist")
    contents = write_mnist(tmp_path / "mnist")
    sums = {name: md5(content) for name, content in contents.items()}
    monkeypatch.setattr(mnist, "_MD5", sums)
    monkeypatch.setattr(_torchvision, "IDX_SIZES", {n: len(c) for n, c in contents.items()})
    said = looked(tmp_path, capsys)
    for name in contents:
        place = tmp_path / "MNIST" / "raw" / name
        assert f"{tmp_path / 'mnist' / name} is misplaced: move it to {place}." in said
    assert "missing" in rows(said)["mnist"] and "It is downloaded" not in said


@pytest.mark.parametrize(
    ("name", "found", "place"),
    [
        ("gtsrb", "Final_Training/Images/", "GTSRB/Final_Training/Images"),
        ("gtsrb", "signs/train.p", "gtsrb/train.p"),
        ("notmnist", "letters/notMNIST_small/", "notMNIST_small"),
        ("facescrub", "x/facescrub_test_100.pkl", "facescrub_test_100.pkl"),
    ],
)
def test_what_has_no_checksum_is_found_by_its_name(
    name: str,
    found: str,
    place: str,
    tmp_path: Path,
    only: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    only(name)
    path = tmp_path / found
    if found.endswith("/"):
        path.mkdir(parents=True)
    else:
        write_pickle(path, {})
    assert f"{path} is misplaced: move it to {tmp_path / place}" in looked(tmp_path, capsys)


@pytest.mark.parametrize(
    ("name", "found", "what"),
    [
        ("mnist", "MNIST/raw/train-images-idx3-ubyte.gz", "unpack it there with gunzip."),
        ("cifar100", "cifar-100-python.tar.gz", "unpack it in "),
        ("gtsrb", "GTSRB_Final_Training_Images.zip", "unpack it in "),
        ("notmnist", "notMNIST_small.tar.gz", "unpack it in "),
    ],
)
def test_what_is_still_packed_is_named(
    name: str,
    found: str,
    what: str,
    tmp_path: Path,
    only: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    only(name)
    (tmp_path / found).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / found).touch()
    assert f"{tmp_path / found} is still packed: {what}" in looked(tmp_path, capsys)


def test_files_of_one_set_are_not_those_of_another(
    tmp_path: Path, only: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    only("mnist")
    write_mnist(tmp_path / "FashionMNIST" / "raw")
    assert "misplaced" not in looked(tmp_path, capsys)


def test_a_partial_set_is_named_with_its_numbers_and_the_word(
    tmp_path: Path, only: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    only("svhn")
    write_decoded(tmp_path, "svhn")
    labels = tmp_path / "decoded" / "svhn-train-v1-labels.npy"
    images = tmp_path / "decoded" / "svhn-train-v1-images.npy"
    np.save(labels, np.load(labels)[:500])
    np.save(images, np.zeros((500, 3, 32, 32), dtype=np.uint8))
    said = looked(tmp_path, capsys)
    assert "500 of 73,257" in rows(said)["svhn"] and "26,032" in rows(said)["svhn"]
    assert "part 'train': there must be 73,257 images, but there are 500, 50 of each" in said
    assert "benchmark.partial_data=[svhn]" in said and said.count("It is downloaded") == 1
    assert f"MPNET_DATA names the folder of all data sets; here it is {tmp_path}." in said


def test_advice_is_given_once_for_both_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = looked(tmp_path, capsys)
    for advice in ("http://ufldl.stanford.edu", "sid.erda.dk", "notmnist_convert", "MPNET_DATA"):
        assert said.count(advice) == 1
