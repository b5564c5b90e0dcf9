"""scikit-learn's 1,797 real handwritten digits, 8x8 pixels: built in, nothing to download."""

from pathlib import Path
from typing import TYPE_CHECKING

from mpnet.datasets._base import DATASETS, Dataset, Images, KnownSize, Layout, Part

if TYPE_CHECKING:
    from torch import Tensor

# The set has no test part of its own, so one is cut off for good, whatever the seed of a run.
_TEST_SHARE, _TEST_SEED = 0.2, 0


@DATASETS.register("digits")
def digits() -> Dataset:
    """1,438 training and 359 test images."""
    return Dataset(
        name="digits",
        n_classes=10,
        shape=(1, 8, 8),
        how_to_get="It comes with scikit-learn.",
        layouts=(Layout({"train": (), "test": ()}, _read),),
        known_size=KnownSize(1_438, 359),
    )


def _everything() -> "tuple[Tensor, Tensor]":
    """Images (1797, 1, 8, 8) as bytes 0 ... 255 and labels 0 ... 9."""
    import sklearn.datasets  # here, since it takes a second that most runs need not spend
    import torch

    pixels, labels = sklearn.datasets.load_digits(return_X_y=True)
    images = torch.from_numpy(pixels).mul(255 / 16).round().to(torch.uint8)
    return images.view(-1, 1, 8, 8), torch.from_numpy(labels).to(torch.int64)


def _read(root: Path, part: Part) -> Images:
    images, labels = _everything()
    chosen = _is_test(labels) == (part == "test")
    return Images(images[chosen].numpy(), labels[chosen].numpy())


def _is_test(labels: "Tensor") -> "Tensor":
    """Whether an image is in the random fifth of its class that is kept for the test."""
    import torch

    generator = torch.Generator().manual_seed(_TEST_SEED)
    is_test = torch.zeros(len(labels), dtype=torch.bool)
    for label in labels.unique():
        members = (labels == label).nonzero().squeeze(1)
        order = torch.randperm(len(members), generator=generator)
        is_test[members[order[: round(_TEST_SHARE * len(members))]]] = True
    return is_test
