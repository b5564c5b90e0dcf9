"""CIFAR100: 60,000 colour photographs of a hundred kinds of things, 32x32; fine labels."""

from mpnet.datasets._base import DATASETS, Dataset, KnownSize, SourceFile
from mpnet.datasets._torchvision import cifar_layout, download_of

_URL = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
_FOLDER = "cifar-100-python"
_FILES = (
    SourceFile(f"{_FOLDER}/train", 155_249_918, "16019d7e3df5f24257cddd939b257f8d"),
    SourceFile(f"{_FOLDER}/test", 31_049_707, "f0ef6b0ae62326f3e7ffdfab6717acfc"),
    SourceFile(f"{_FOLDER}/meta", 1_473, "7973b15100ade9c7d40fb424638fde48"),
)


@DATASETS.register("cifar100")
def cifar100() -> Dataset:
    """50,000 training and 10,000 test images."""
    return Dataset(
        name="cifar100",
        n_classes=100,
        shape=(3, 32, 32),
        how_to_get=f"It is downloaded on first use; or fetch {_URL} (169,001,437 bytes, "
        "md5 eb9058c3a382ffc7106e4002c42a8d85) and unpack it in the data root.",
        layouts=(cifar_layout("CIFAR100", _FILES),),
        download=download_of("CIFAR100", _URL),
        known_size=KnownSize(50_000, 10_000, is_balanced=True),
    )
