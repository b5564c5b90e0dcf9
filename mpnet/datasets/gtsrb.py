"""GTSRB: 51,839 German traffic signs of 43 kinds, photographs of many sizes made 32x32."""

import csv
import zipfile
from functools import partial
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
from mpnet.datasets._downloading import scratch
from mpnet.datasets._pickles import features_and_labels
from mpnet.datasets._pictures import Picture, files_in, read_pictures
from mpnet.datasets._torchvision import download_and_unpack

_N_CLASSES = 43
_URL = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370/"
_PUBLISHED: dict[Part, dict[str, str]] = {  # archives and their checksums
    "train": {"GTSRB_Final_Training_Images.zip": "f33fd80ac59bff73c82d25ab499e03a3"},
    "test": {
        "GTSRB_Final_Test_Images.zip": "c7e4e6327067d32654124b0fe9e82185",
        "GTSRB_Final_Test_GT.zip": "fe31e9c9270bbcd7b84b7f21a9d9d9e5",
    },
}
_FOLDERS: dict[Part, tuple[SourceFile, ...]] = {
    "train": (SourceFile("gtsrb/GTSRB/Training/"),),
    "test": (SourceFile("gtsrb/GTSRB/Final_Test/Images/"), SourceFile("gtsrb/GT-final_test.csv")),
}
_ARCHIVES: dict[Part, tuple[SourceFile, ...]] = {
    "train": (
        SourceFile(
            "gtsrb/GTSRB-Training_fixed.zip", 187_490_228, "513f3c79a4c5141765e10e952eaa2478"
        ),
    ),
    "test": (
        SourceFile(
            "gtsrb/GTSRB_Final_Test_Images.zip", 88_978_620, "c7e4e6327067d32654124b0fe9e82185"
        ),
        SourceFile("gtsrb/GTSRB_Final_Test_GT.zip", 99_620, "fe31e9c9270bbcd7b84b7f21a9d9d9e5"),
    ),
}
_OFFICIAL: dict[Part, tuple[SourceFile, ...]] = {
    "train": (SourceFile("GTSRB/Final_Training/Images/"),),
    "test": (SourceFile("GTSRB/Final_Test/Images/"), SourceFile("GT-final_test.csv")),
}
_PICKLES: dict[Part, tuple[SourceFile, ...]] = {
    "train": (SourceFile("gtsrb/train.p"),),
    "test": (SourceFile("gtsrb/test.p"),),
}
_THREE_PICKLES = {**_PICKLES, "train": (*_PICKLES["train"], SourceFile("gtsrb/valid.p"))}


@DATASETS.register("gtsrb")
def gtsrb() -> Dataset:
    """39,209 training and 12,630 test images; torchvision's archive has 26,640 for training.

    Published results on the sequence of eight sets use the pickles.
    """
    return Dataset(
        name="gtsrb",
        n_classes=_N_CLASSES,
        shape=(3, 32, 32),
        how_to_get="It is downloaded on first use; or unpack "
        f"{', '.join([*_PUBLISHED['train'], *_PUBLISHED['test']])} of {_URL} in the data root, "
        "or take train.p, valid.p and test.p of Udacity's traffic-sign course. torchvision's "
        "GTSRB-Training_fixed.zip has 26,640 of the training images, train.p alone 34,799.",
        layouts=(
            Layout(_OFFICIAL, _from_official),
            Layout(_THREE_PICKLES, partial(_from_pickles, _THREE_PICKLES)),
            Layout(_FOLDERS, _from_folders),
            Layout(_ARCHIVES, _from_archives),
            Layout(_PICKLES, partial(_from_pickles, _PICKLES)),
        ),
        download=Download((f"{_URL}GTSRB_Final_Test_GT.zip",), _fetch),
        known_size=KnownSize(39_209, 12_630),
    )


def _fetch(folder: Path, part: Part) -> None:
    for name, md5 in _PUBLISHED[part].items():
        download_and_unpack(f"{_URL}{name}", folder, md5)


def _from_folders(root: Path, part: Part) -> Images:
    return _read(root / "gtsrb", "Training", part)


def _from_official(root: Path, part: Part) -> Images:
    return _read(root, "Final_Training/Images", part)


def _read(folder: Path, training: str, part: Part) -> Images:
    pictures = _training(folder / "GTSRB" / training) if part == "train" else _final_test(folder)
    return read_pictures(pictures, "RGB", 32, "BILINEAR")


def _training(folder: Path) -> list[Picture]:
    classes = [path for path in folder.iterdir() if path.is_dir()]
    if len(classes) != _N_CLASSES:
        must = f"must hold a folder for each of {_N_CLASSES} classes"
        raise ValueError(f"{folder} {must}, but has {len(classes)}")
    return [
        Picture(path, int(folder_of_class.name))
        for folder_of_class in sorted(classes)
        for path in files_in(folder_of_class)
        if path.suffix == ".ppm"
    ]


def _final_test(folder: Path) -> list[Picture]:
    images = folder / "GTSRB" / "Final_Test" / "Images"
    with (folder / "GT-final_test.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter=";", skipinitialspace=True))
    return [Picture(images / row["Filename"], int(row["ClassId"])) for row in rows]


def _from_archives(root: Path, part: Part) -> Images:
    with scratch(root / ".unpacked-gtsrb") as folder:
        for file in _ARCHIVES[part]:
            with zipfile.ZipFile(root / file.path) as archive:
                archive.extractall(folder / "gtsrb")
        return _from_folders(folder, part)


def _from_pickles(paths: dict[Part, tuple[SourceFile, ...]], root: Path, part: Part) -> Images:
    pieces = [features_and_labels(root / file.path) for file in paths[part]]
    features, labels = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    return Images(features.transpose(0, 3, 1, 2), labels)
