"""notMNIST (small): 18,724 letters A to J in many typefaces, 28x28 grey made 32x32."""

from pathlib import Path

from mpnet.datasets._base import DATASETS, Dataset, Images, KnownSize, Layout, Part, SourceFile
from mpnet.datasets._pickles import features_and_labels
from mpnet.datasets._pictures import pictures_of_classes, read_pictures, tenth_as_test

_LETTERS = "ABCDEFGHIJ"
_FOLDER = (SourceFile("notMNIST_small/"),)
_PICKLES: dict[Part, tuple[SourceFile, ...]] = {
    "train": (SourceFile("notmnist_train.pkl"),),
    "test": (SourceFile("notmnist_test.pkl"),),
}


@DATASETS.register("notmnist")
def notmnist() -> Dataset:
    """16,853 training and 1,873 test images, less those that cannot be read."""
    return Dataset(
        name="notmnist",
        n_classes=10,
        shape=(1, 32, 32),
        how_to_get="Unpack notMNIST_small.tar.gz (http://yaroslavvb.blogspot.com/2011/09/"
        "notmnist-dataset.html) in the data root, or put the pickles of "
        "https://github.com/nkundiushuti/notmnist_convert there.",
        layouts=(
            Layout({"train": _FOLDER, "test": _FOLDER}, _from_folder),
            Layout(_PICKLES, _from_pickles),
        ),
        known_size=KnownSize(16_853, 1_873, n_unreadable=2),
    )


def _from_folder(root: Path, part: Part) -> Images:
    pictures = pictures_of_classes([root / "notMNIST_small" / letter for letter in _LETTERS])
    chosen = tenth_as_test(pictures, part)
    return _without_blanks(read_pictures(chosen, "L", 32, by="LANCZOS"))


def _from_pickles(root: Path, part: Part) -> Images:
    return _without_blanks(Images(*features_and_labels(root / _PICKLES[part][0].path)))


def _without_blanks(held: Images) -> Images:
    """Drop what stands for unreadable files in the pickles: all-zero images labelled A."""
    is_drawn = held.images.reshape(len(held.images), -1).any(axis=1)
    return Images(held.images[is_drawn], held.labels[is_drawn])
