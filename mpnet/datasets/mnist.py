"""MNIST: 70,000 handwritten digits, 28x28 grey."""

from mpnet.datasets._base import DATASETS, Dataset, KnownSize
from mpnet.datasets._torchvision import download_of, idx_layout

_MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_MD5 = {  # of the unpacked files, whose packed ones have the official checksums
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


@DATASETS.register("mnist")
def mnist() -> Dataset:
    """60,000 training and 10,000 test images."""
    return Dataset(
        name="mnist",
        n_classes=10,
        shape=(1, 28, 28),
        how_to_get=f"It is downloaded on first use; or fetch each file as {_MIRROR}<file>.gz and "
        "unpack it with gunzip.",
        layouts=(idx_layout("MNIST", _MD5),),
        download=download_of("MNIST", f"{_MIRROR}train-labels-idx1-ubyte.gz"),
        known_size=KnownSize(60_000, 10_000),
    )
