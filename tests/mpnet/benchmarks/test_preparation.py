"""From bytes to what a network sees."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mpnet.benchmarks import BENCHMARKS, Preparation, Source
from mpnet.benchmarks._preparation import augmented


def _bytes(*shape: int) -> Tensor:
    return torch.randint(0, 256, shape, dtype=torch.uint8)


def test_statistics_are_those_of_the_images_as_they_are_shown() -> None:
    images = _bytes(50, 1, 28, 28)
    padded = F.pad(images, (2, 2, 2, 2)).double() / 255
    prepare = Preparation.of(images, size=32, n_channels=3)
    torch.testing.assert_close(prepare.mean.flatten().double(), padded.mean().view(1))
    torch.testing.assert_close(
        prepare.std.flatten().double(), padded.std(correction=0).view(1), rtol=1e-6, atol=0
    )
    assert prepare(images).shape == (50, 3, 32, 32)


def test_a_grey_image_is_repeated_and_padded_evenly() -> None:
    x = Preparation.of(_bytes(9, 1, 28, 28), size=32, n_channels=3)(_bytes(2, 1, 28, 28))
    assert torch.equal(x[:, 0], x[:, 2])
    border = x[:, :, :2]
    assert (border == border[0, 0, 0, 0]).all()
    assert not (x[:, :, 2:4, 2:4] == border[0, 0, 0, 0]).all()


def test_a_permutation_moves_pixels_after_everything_else() -> None:
    images = _bytes(3, 1, 4, 4)
    order = torch.from_numpy(np.random.RandomState(5).permutation(16))
    plain = Preparation.of(images)
    shown = plain.permuted(order)(images)
    torch.testing.assert_close(shown.flatten(1), plain(images).flatten(1)[:, order])


def test_crops_and_flips_come_from_the_image_itself() -> None:
    images = _bytes(200, 3, 8, 8)
    bordered = F.pad(images, (4, 4, 4, 4))
    out = augmented(images, torch.Generator().manual_seed(0))
    assert out.shape == images.shape
    for i in range(0, 200, 20):
        windows = bordered[i].unfold(1, 8, 1).unfold(2, 8, 1)  # (3, 9, 9, 8, 8)
        choices = windows.permute(1, 2, 0, 3, 4).flatten(0, 1)
        both = torch.cat([choices, choices.flip(-1)])
        assert (both == out[i]).flatten(1).all(1).any()


def test_half_the_images_are_flipped_and_crops_are_spread() -> None:
    ramp = torch.arange(8, dtype=torch.uint8).add(1).expand(2000, 1, 8, 8)
    out = augmented(ramp, torch.Generator().manual_seed(0)).long()
    middle = out[:, 0, 4, 3:5]  # inside the image for every crop
    is_flipped = middle[:, 0] > middle[:, 1]
    assert 0.4 < is_flipped[middle.min(1).values > 0].double().mean() < 0.6
    assert len(out[:, 0, 4, 3].unique()) >= 8


def test_the_same_generator_gives_the_same_images() -> None:
    images = _bytes(10, 3, 8, 8)
    first, again = (augmented(images, torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(first, again)


def test_only_cifar_tasks_are_augmented_and_only_in_training() -> None:
    task = BENCHMARKS["digits"](Source("validation"))[0]
    chosen = torch.arange(5)
    x, _ = task.training_batch(chosen, torch.Generator().manual_seed(0))
    assert torch.equal(x, task.prepare(task.train.images(chosen)))
