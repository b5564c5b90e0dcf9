"""FashionMNIST: 70,000 pictures of clothes, 28x28 grey."""

from mpnet.datasets._base import DATASETS, Dataset, KnownSize
from mpnet.datasets._torchvision import download_of, idx_layout

_MIRROR = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_MD5 = {  # of the unpacked files, whose packed ones have the official checksums
    "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
    "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
    "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
    "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
}


@DATASETS.register("fashion_mnist")
def fashion_mnist() -> Dataset:
    """60,000 training and 10,000 test images."""
    return Dataset(
        name="fashion_mnist",
        n_classes=10,
        shape=(1, 28, 28),
        how_to_get=f"It is downloaded on first use; or fetch each file as {_MIRROR}<file>.gz and "
        "unpack it with gunzip.",
        layouts=(idx_layout("FashionMNIST", _MD5),),
        download=download_of("FashionMNIST", f"{_MIRROR}train-labels-idx1-ubyte.gz"),
        known_size=KnownSize(60_000, 10_000, is_balanced=True),
    )
