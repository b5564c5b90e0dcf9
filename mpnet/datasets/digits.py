"""scikit-learn's 1,797 real handwritten digits, 8x8 pixels: built in, nothing to download."""

import torch
from torch import Tensor


def load() -> tuple[Tensor, Tensor]:
    """Images (1797, 1, 8, 8) as bytes 0 ... 255 and labels 0 ... 9."""
    import sklearn.datasets  # here, since it takes a second that most runs need not spend

    pixels, labels = sklearn.datasets.load_digits(return_X_y=True)
    images = torch.from_numpy(pixels).mul(255 / 16).round().to(torch.uint8)
    return images.view(-1, 1, 8, 8), torch.from_numpy(labels).to(torch.int64)
