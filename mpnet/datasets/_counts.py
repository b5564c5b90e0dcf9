"""How many images there are of a data set, and whether it is the whole set."""

from typing import NamedTuple

import numpy as np

from mpnet.datasets._base import Dataset, Images, Part


class Counts(NamedTuple):
    """How many images a part has, in all and in its smallest and largest class."""

    images: int
    smallest_class: int
    largest_class: int
    n_empty: int


def counts(dataset: Dataset, images: Images) -> Counts:
    """The numbers of images of a part."""
    of_class = np.bincount(images.labels, minlength=dataset.n_classes)
    n_empty = int((of_class == 0).sum())
    return Counts(len(images.labels), int(of_class.min()), int(of_class.max()), n_empty)


def shortfall(dataset: Dataset, part: Part, found: Counts) -> str | None:
    """What tells a part from that of the whole set; None if nothing does, or nobody knows."""
    known = dataset.known_size
    if known is None:
        return None
    n_images = known.of(part)
    is_complete = n_images - known.n_unreadable <= found.images <= n_images
    if is_complete and not (known.is_balanced and found.smallest_class < found.largest_class):
        return None
    each = f", {n_images // dataset.n_classes:,} of each class" if known.is_balanced else ""
    low, high = found.smallest_class, found.largest_class
    of_class = f"{low:,} of each class" if low == high else f"{low:,} to {high:,} of a class"
    got = f"{found.images:,}, {of_class}"
    empty = f"; {found.n_empty} of {dataset.n_classes} classes have none" if found.n_empty else ""
    return f"there must be {n_images:,} images{each}, but there are {got}{empty}"
