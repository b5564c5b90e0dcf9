"""FaceScrub-100: about 22,900 faces of the 100 people with most pictures, made 32x32 colour.

The pickles in circulation were made with `reshape((3, 32, 32))` of (32, 32, 3) images, which
scrambles rows and colours; published results are on such scrambled faces. Here the scramble is
undone, so accuracies are not comparable with those to the last digit.
"""

from pathlib import Path

from mpnet.datasets._base import DATASETS, Dataset, Images, Layout, Part, SourceFile
from mpnet.datasets._pickles import features_and_labels
from mpnet.datasets._pictures import files_in, pictures_of_classes, read_pictures, tenth_as_test

_N_PEOPLE = 100
_FOLDER = (SourceFile("facescrub/"),)
_PICKLES: dict[Part, tuple[SourceFile, ...]] = {
    "train": (SourceFile("facescrub_train_100.pkl"),),
    "test": (SourceFile("facescrub_test_100.pkl"),),
}


@DATASETS.register("facescrub")
def facescrub() -> Dataset:
    """20,600 training and 2,289 test images in the pickles."""
    return Dataset(
        name="facescrub",
        n_classes=_N_PEOPLE,
        shape=(3, 32, 32),
        how_to_get="Ask for FaceScrub at http://vintage.winklerbros.net/facescrub.html and put "
        "the cropped faces into facescrub/<person>/ below the data root, or put the pickles of "
        "https://github.com/nkundiushuti/facescrub_subset into the data root.",
        layouts=(
            Layout({"train": _FOLDER, "test": _FOLDER}, _from_folder),
            Layout(_PICKLES, _from_pickles),
        ),
    )


def _from_folder(root: Path, part: Part) -> Images:
    pictures = pictures_of_classes(_most_pictured(root / "facescrub"))
    return read_pictures(tenth_as_test(pictures, part), "RGB", 32, by="BILINEAR")


def _most_pictured(folder: Path) -> list[Path]:
    """The folders of the people with most pictures, by name; equals in order of their names."""
    people = sorted(path for path in folder.iterdir() if path.is_dir())
    if len(people) < _N_PEOPLE:
        raise ValueError(f"{folder} must hold {_N_PEOPLE} people or more, but has {len(people)}")
    return sorted(sorted(people, key=lambda person: -len(files_in(person)))[:_N_PEOPLE])


def _from_pickles(root: Path, part: Part) -> Images:
    features, labels = features_and_labels(root / _PICKLES[part][0].path)
    # The bytes are in the order (32, 32, 3) of the pictures, whatever the shape claims.
    pictures = features.reshape(-1, 32, 32, 3)
    return Images(pictures.transpose(0, 3, 1, 2), labels)
