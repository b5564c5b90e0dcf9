"""Raw data sets: files to byte images and labels. They know no task."""

from mpnet.datasets._base import DATASETS, PARTS, Dataset, Images, Part, data_root, dataset
from mpnet.datasets._image_folder import class_names, image_folder
from mpnet.datasets._loading import load
from mpnet.registry import import_members

__all__ = [
    "DATASETS",
    "PARTS",
    "Dataset",
    "Images",
    "Part",
    "class_names",
    "data_root",
    "dataset",
    "image_folder",
    "load",
]

import_members(__name__, __path__)
