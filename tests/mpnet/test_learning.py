"""Learning on real MNIST and CIFAR10 by the ELBO alone; skipped where the data are not there."""

from pathlib import Path
from typing import Any

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from mpnet import datasets
from mpnet.allocator import keep_freed_memory
from mpnet.benchmarks import Preparation, Split, Task, TaskStream
from mpnet.config import load_run
from mpnet.errors import DataMissing
from mpnet.evaluation import evaluate
from mpnet.layers.moment import MomentLayers
from mpnet.methods.ft import FineTuning
from mpnet.networks import Network, build_network
from mpnet.training import EpochReport, TrainingSettings
from tests.mpnet.conftest import train_task, trained

pytestmark = pytest.mark.slow

EPOCHS = 10
SEARCH_SPACES = Path(__file__).parents[2] / "search_spaces"
both_likelihoods = pytest.mark.parametrize("likelihood", ["expected_softmax", "gaussian"])


def _split(name: str, part: datasets.Part, classes: range, images_of_class: slice) -> Split:
    """Some images of every class of a real data set, which must be there."""
    try:
        images, labels = map(torch.from_numpy, datasets.load(name, part))
    except DataMissing as error:
        pytest.skip(str(error))
    index = torch.cat([(labels == c).nonzero()[images_of_class, 0] for c in classes])
    return Split(images, index, labels[index])


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
    """A 2x800 MLP after ten epochs, 500 training images of every digit held out."""
    train, held_out, test = (
        _split("mnist", part, range(10), images)
        for part, images in (
            ("train", slice(500, None)),
            ("train", slice(500)),
            ("test", slice(None)),
        )
    )
    task = Task("mnist", 10, train, held_out, test, Preparation.of(train.pool))
    model, _ = _train("mlp", request.param, task, seed=0, decay="cosine")
    return model, task


def test_an_mlp_reaches_98_percent_on_mnist_in_ten_epochs(mnist_run: tuple[Network, Task]) -> None:
    model, task = mnist_run
    reached = evaluate(model, task, task.evaluation, 0).accuracy
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
    for x, y in task.examples(task.evaluation).batches(1000):
        p, var = model.layers.predict(model(x, 0))
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
    train, held_out, test = (
        _split("cifar10", part, range(5), images)
        for part, images in (
            ("train", slice(2000)),
            ("train", slice(2000, 2200)),
            ("test", slice(None)),
        )
    )
    task = Task("cifar10", 5, train, held_out, test, Preparation.of(train.pool))
    model, reports = _train("alexnet", likelihood, task, seed)
    by_epoch = [round(report.validation_accuracy, 3) for report in reports]
    reached = evaluate(model, task, test, 0).accuracy
    print(f"{likelihood}, seed {seed}: {by_epoch}, test {reached:.4f}")
    assert min(by_epoch[2:]) > 0.3  # chance is 0.2
    assert by_epoch[-1] > 0.5


@pytest.mark.parametrize("name", ["lra", "ppbi"])
@pytest.mark.parametrize("measure", ["var", "snr"])
@pytest.mark.parametrize("tau_0", [1e-3, 1e-5, 1e-7, 1e-8])
def test_after_a_task_some_weights_are_held_and_some_are_free(
    name: str, measure: str, tau_0: float
) -> None:
    changes = ["epochs=4", f"method.measure={measure}", f"method.tau_0={tau_0}"]
    config = load_run(SEARCH_SPACES / f"{name}_split_mnist.yaml", changes)
    try:
        method = trained(config, 1)
    except DataMissing as error:
        pytest.skip(str(error))
    held = method.protection()
    assert held is not None
    freedom = held.freedom()
    is_held, is_free = (freedom < 0.1).double().mean(), (freedom > 0.5).double().mean()
    found = held.selectivity(method.network)
    print(f"{name} {measure} tau_0 {tau_0}: held {is_held:.3f}, above a half {is_free:.3f}")
    print(f"95 % to 5 % quantile of the variances: {found.variance_ratio:.1f}")
    assert 0.05 <= is_held <= 0.6
    assert is_free >= 0.2
    if tau_0 <= 1e-5:  # a heavier KL keeps nearly all variances at the prior's
        assert found.variance_ratio > 3
