"""Learning on real MNIST and CIFAR10 by the ELBO alone; skipped where the data are not there."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torchvision import datasets

from mpnet.allocator import keep_freed_memory
from mpnet.benchmarks import Normalisation, Split, Task, TaskStream
from mpnet.layers.moment import MomentLayers
from mpnet.methods.ft import FineTuning
from mpnet.networks import Network, build_network
from mpnet.training import EpochReport, TrainingSettings, accuracy
from tests.mpnet.conftest import train_task

pytestmark = pytest.mark.slow

DATA = Path(os.environ.get("MPNET_DATA", Path.home() / ".cache" / "mpnet"))
EPOCHS = 10
both_likelihoods = pytest.mark.parametrize("likelihood", ["expected_softmax", "gaussian"])


def _mnist(train: bool) -> Split:
    try:
        raw = datasets.MNIST(DATA, train=train)
    except RuntimeError:
        pytest.skip(f"MNIST is not below {DATA}")
    return Split(raw.data.unsqueeze(1), raw.targets)


def _cifar10_first_five(train: bool, images_of_class: slice) -> Split:
    try:
        raw = datasets.CIFAR10(DATA, train=train)
    except RuntimeError:
        pytest.skip(f"CIFAR10 is not below {DATA}")
    images, labels = torch.from_numpy(raw.data).permute(0, 3, 1, 2), torch.tensor(raw.targets)
    chosen = torch.cat([(labels == c).nonzero()[images_of_class, 0] for c in range(5)])
    return Split(images[chosen].contiguous(), labels[chosen])


def _train(
    network: str, likelihood: str, task: Task, seed: int, **settings: Any
) -> tuple[Network, list[EpochReport]]:
    keep_freed_memory()
    torch.manual_seed(seed)
    layers = MomentLayers(likelihood=likelihood)  # type: ignore[arg-type]
    stream = TaskStream((task,))
    model = build_network(network, layers, stream.input_shape, stream.n_classes)
    training = TrainingSettings(epochs=EPOCHS, **settings)
    generator = torch.Generator().manual_seed(seed)
    return model, train_task(FineTuning(model), stream, 0, training, generator)


@pytest.fixture(scope="module", params=["expected_softmax", "gaussian"])
def mnist_run(request: pytest.FixtureRequest) -> tuple[Network, Task]:
    """A 2x800 MLP after ten epochs, the last 5,000 training images held out."""
    known, test = _mnist(train=True), _mnist(train=False)
    train, held_out = known.where(torch.arange(55000)), known.where(torch.arange(55000, 60000))
    task = Task("mnist", 10, train, held_out, test, Normalisation.of(known.images))
    model, _ = _train("mlp", request.param, task, seed=0, decay="cosine")
    return model, task


def test_an_mlp_reaches_98_percent_on_mnist_in_ten_epochs(mnist_run: tuple[Network, Task]) -> None:
    model, task = mnist_run
    reached = accuracy(model, task, task.evaluation, 0)
    print(f"{type(model.layers.likelihood).__name__}: test accuracy {reached:.4f}")
    assert reached >= 0.98


def test_wrong_predictions_are_more_uncertain_than_right_ones(
    mnist_run: tuple[Network, Task],
) -> None:
    model, task = mnist_run
    variance, is_wrong = _variance_and_errors(model, task)
    auroc = roc_auc_score(is_wrong.numpy(), variance.numpy())
    wrong, right = variance[is_wrong].mean(), variance[~is_wrong].mean()
    print(
        f"{type(model.layers.likelihood).__name__}: mean variance {wrong:.3g} wrong, {right:.3g}"
    )
    print(f"right; AUROC {auroc:.4f}")
    assert wrong > right
    assert auroc > 0.9


@torch.no_grad()
def _variance_and_errors(model: Network, task: Task) -> tuple[Tensor, Tensor]:
    """Variance of the predicted class's probability, and whether the prediction is wrong."""
    model.eval()
    variance, is_wrong = [], []
    images, labels = task.evaluation.images, task.evaluation.labels
    for x, y in zip(images.split(1000), labels.split(1000), strict=True):
        p, var = model.layers.predict(model(task.normalise(x), 0))
        predicted = p.argmax(1)
        assert var is not None
        variance.append(var.gather(1, predicted.unsqueeze(1)).squeeze(1))
        is_wrong.append(predicted != y)
    return torch.cat(variance), torch.cat(is_wrong)


@both_likelihoods
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_alexnet_learns_five_classes_of_cifar10_without_collapse(
    likelihood: str, seed: int
) -> None:
    train, held_out = (_cifar10_first_five(True, s) for s in (slice(2000), slice(2000, 2200)))
    test = _cifar10_first_five(False, slice(None))
    task = Task("cifar10", 5, train, held_out, test, Normalisation.of(train.images))
    model, reports = _train("alexnet", likelihood, task, seed)
    by_epoch = [round(report.validation_accuracy, 3) for report in reports]
    print(f"{likelihood}, seed {seed}: {by_epoch}, test {accuracy(model, task, test, 0):.4f}")
    assert min(by_epoch[2:]) > 0.3  # chance is 0.2
    assert by_epoch[-1] > 0.5
