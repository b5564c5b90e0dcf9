"""CIFAR10: 60,000 colour photographs of ten kinds of things, 32x32."""

from mpnet.datasets._base import DATASETS, Dataset, KnownSize, SourceFile
from mpnet.datasets._torchvision import cifar_layout, download_of

_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
_FOLDER = "cifar-10-batches-py"
_FILES = (
    SourceFile(f"{_FOLDER}/data_batch_1", 31_035_704, "c99cafc152244af753f735de768cd75f"),
    SourceFile(f"{_FOLDER}/data_batch_2", 31_035_320, "d4bba439e000b95fd0a9bffe97cbabec"),
    SourceFile(f"{_FOLDER}/data_batch_3", 31_035_999, "54ebc095f3ab1f0389bbae665268c751"),
    SourceFile(f"{_FOLDER}/data_batch_4", 31_035_696, "634d18415352ddfa80567beed471001a"),
    SourceFile(f"{_FOLDER}/data_batch_5", 31_035_623, "482c414d41f54cd18b22e5b47cb7c3cb"),
    SourceFile(f"{_FOLDER}/test_batch", 31_035_526, "40351d587109b95175f43aff81a1287e"),
    SourceFile(f"{_FOLDER}/batches.meta", 158, "5ff9c542aee3614f3951f8cda6e48888"),
)


@DATASETS.register("cifar10")
def cifar10() -> Dataset:
    """50,000 training and 10,000 test images."""
    return Dataset(
        name="cifar10",
        n_classes=10,
        shape=(3, 32, 32),
        how_to_get=f"It is downloaded on first use; or fetch {_URL} (170,498,071 bytes, "
        "md5 c58f30108f718f92721af3b95e74349a) and unpack it in the data root.",
        layouts=(cifar_layout("CIFAR10", _FILES),),
        download=download_of("CIFAR10", _URL),
        known_size=KnownSize(50_000, 10_000, is_balanced=True),
    )
