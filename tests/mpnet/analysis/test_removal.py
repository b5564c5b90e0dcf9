"""Removal of single parameters: held against closed forms, whole networks and SciPy."""

import copy

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn

from mpnet.analysis import load_runs
from mpnet.analysis.__main__ import main
from mpnet.analysis._increase import Change, draw, loss_increases, precise, shift_by
from mpnet.analysis._ranks import correlation, spearman
from mpnet.analysis.removal import orders_of, removal
from mpnet.benchmarks import Examples, Split
from mpnet.benchmarks._preparation import Preparation
from mpnet.errors import ConfigError
from mpnet.layers import FAMILIES, Posterior
from mpnet.networks import Network
from mpnet.networks._base import Trunk
from tests.mpnet.analysis.conftest import Folder

CHANGES = {"removal": Posterior.remove, "shift": shift_by(0.05)}


def noise_images(n_classes: int, n: int = 300, size: int = 6) -> Examples:
    """Random pixels and labels."""
    generator = torch.Generator().manual_seed(0)
    pool = torch.randint(256, (n, 1, size, size), generator=generator, dtype=torch.uint8)
    labels = torch.randint(n_classes, (n,), generator=generator)
    return Examples(Split(pool, torch.arange(n), labels), Preparation.of(pool))


def convolutional(family: str) -> Network:
    """A convolution and two linear layers, then the heads of two tasks."""
    torch.manual_seed(0)
    layers = FAMILIES[family]()
    body = layers.sequential(
        layers.conv2d(1, 3, 3),
        layers.relu(),
        layers.max_pool2d(2),
        *layers.gate(3),
        layers.flatten(),
        layers.linear(12, 5),
        layers.relu(),
        layers.linear(5, 4),
        layers.relu(),
    )
    return precise(Network(layers, Trunk(body, 4), (1, 6, 6), [3, 3]))


def whole_loss(network: Network, examples: Examples) -> float:
    """The loss of task 2, all images at once."""
    ((images, labels),) = examples.batches(len(examples))
    return float(network.layers.nll(network(images.double(), 1), labels))


@torch.no_grad()
def naive_increase(network: Network, path: str, place: int, change: Change) -> float:
    """Change a copy of the network and run all of it."""
    changed, examples = copy.deepcopy(network), noise_images(3)
    (posterior,) = (p for p in changed.layers.posteriors(changed) if p.path == path)
    chosen = torch.zeros_like(posterior.mean, dtype=torch.bool)
    chosen.view(-1)[place] = True
    change(posterior, chosen)
    return whole_loss(changed, examples) - whole_loss(network, examples)


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
@pytest.mark.parametrize("layer", ["trunk.0.", "trunk.4.", "trunk.6."])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_an_increase_is_that_of_the_whole_network_which_is_put_back(
    family: str, layer: str, change: Change
) -> None:
    network = convolutional(family)
    if family == "gated":
        place = int(layer.split(".")[1])
        layer = f"trunk.{place + (place > 0)}."  # behind the gate
    before = {name: value.clone() for name, value in network.state_dict().items()}
    posteriors = [p for p in network.layers.posteriors(network) if p.path.startswith(layer)]
    choices = draw(posteriors, 15, torch.Generator().manual_seed(1))
    found = loss_increases(network, choices, noise_images(3), 1, [change])
    naive = [naive_increase(network, c.path, c.place, change) for c in choices]
    assert np.abs(naive).max() > 1e-5
    assert found == pytest.approx(naive, rel=1e-6, abs=1e-13)
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])


def linear_model(family: str) -> Network:
    """Two linear maps in a row, with large variances where there are any."""
    torch.manual_seed(0)
    layers = FAMILIES[family](rho=-2.0) if family == "moment" else FAMILIES[family]()
    body = layers.sequential(layers.flatten(), layers.linear(36, 4))
    return precise(Network(layers, Trunk(body, 4), (1, 6, 6), [2]))


def logits(x: Tensor, parts: list[Posterior]) -> tuple[Tensor, Tensor]:
    """Mean and variance of V (W x + b) + c, written out by its definition."""
    mean, var = x, torch.zeros_like(x)
    for weight, bias in (parts[:2], parts[2:]):
        w, s = weight.mean, torch.zeros(()) if weight.var is None else weight.var
        s_bias = torch.zeros(()) if bias.var is None else bias.var
        second = (mean.square() + var)[:, None] * s + var[:, None] * w.square()
        mean, var = (mean[:, None] * w).sum(2) + bias.mean, second.sum(2) + s_bias
    return mean, var


def closed_loss(x: Tensor, labels: Tensor, parts: list[Posterior]) -> Tensor:
    """-mean_y + log sum_j exp(mean_j + var_j / 2)."""
    mean, var = logits(x, parts)
    right = mean[torch.arange(len(x)), labels]
    return ((mean + var / 2).exp().sum(1).log() - right).mean()


@pytest.mark.parametrize("family", ["plain", "moment"])
def test_in_a_linear_model_a_removal_costs_what_its_formula_says(family: str) -> None:
    network, examples = linear_model(family), noise_images(2)
    parts = network.layers.posteriors(network)
    choices = draw(parts[:1], 20, torch.Generator().manual_seed(0))
    found = loss_increases(network, choices, examples, 0, [Posterior.remove])
    ((images, labels),) = examples.batches(len(examples))
    x = images.double().flatten(1)
    before = closed_loss(x, labels, parts)
    for choice, increase in zip(choices, found, strict=True):
        mean = parts[0].mean.clone()
        mean.view(-1)[choice.place] = 0
        var = None if parts[0].var is None else parts[0].var.clone()
        if var is not None:
            var.view(-1)[choice.place] = 0
        after = closed_loss(x, labels, [Posterior("", mean, var=var), *parts[1:]])
        assert increase == pytest.approx(float(after - before), rel=1e-6, abs=1e-14)


@torch.no_grad()
def test_a_small_shift_both_ways_leaves_half_the_curvature() -> None:
    network, examples, delta = linear_model("plain"), noise_images(2), 1e-3
    choices = draw(network.layers.posteriors(network)[:1], 20, torch.Generator().manual_seed(0))
    changes = [shift_by(delta), shift_by(-delta)]
    found = loss_increases(network, choices, examples, 0, changes)
    ((images, _),) = examples.batches(len(examples))
    p = network(images.double(), 0).softmax(1)
    head = network.heads[0]
    assert isinstance(head, nn.Linear)
    for choice, increase in zip(choices, found, strict=True):
        pixel = images.double().flatten(1)[:, choice.place % 36]
        contrast = head.weight[0, choice.unit] - head.weight[1, choice.unit]
        curvature = (p[:, 0] * p[:, 1] * (contrast * pixel).square()).mean()
        assert increase == pytest.approx(float(curvature) * delta**2 / 2, rel=1e-4)


def test_parameters_are_drawn_once_each_from_all_tensors_of_a_layer() -> None:
    parts = [
        Posterior("trunk.1.weight", torch.randn(4, 3)),
        Posterior("trunk.1.bias", torch.randn(4)),
    ]
    choices = draw(parts, 99, torch.Generator())
    assert len({(c.path, c.place) for c in choices}) == len(choices) == 16
    for choice in choices:
        part = parts[choice.path.endswith("bias")].mean
        assert choice.mean == float(
            part[choice.unit].reshape(-1)[choice.place % (part[0].numel())]
        )


def test_the_correlation_is_that_of_scipy_with_ties() -> None:
    generator = np.random.default_rng(0)
    x, y = generator.integers(0, 20, (2, 5, 80))
    for row in range(5):
        expected = spearmanr(x[row], y[row]).statistic
        assert spearman(x, y)[row] == pytest.approx(expected)
        assert correlation(x[row], y[row]).value == pytest.approx(expected)


def test_an_interval_holds_the_correlation_and_shrinks_with_more_examples() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=2000)
    y = x + generator.normal(size=2000)
    few, many = correlation(x[:100], y[:100]), correlation(x, y)
    assert few.low < few.value < few.high
    assert many.low < many.value < many.high
    assert many.high - many.low < 0.4 * (few.high - few.low)


def test_a_constant_order_has_no_correlation() -> None:
    assert all(np.isnan(correlation(np.ones(9), np.arange(9.0))))


def test_a_network_without_variances_gives_only_the_orders_that_it_has(folder: Folder) -> None:
    ft, plain = load_runs([folder("ft"), folder("plain_ft")])
    with_variance = ["snr", "variance", "mean^2 / variance", "second order"]
    assert orders_of(ft) == [*with_variance, "magnitude", "random"]
    rows = removal([plain], n_weights=20, n_images=50).rows
    assert {row["order"] for row in rows} == {"magnitude", "random"} == set(orders_of(plain))


def test_correlations_are_those_of_the_weights_beside_them(folder: Folder) -> None:
    (run,) = load_runs([folder("ft")])
    before = {name: value.clone() for name, value in run.network.state_dict().items()}
    found = removal([run], n_weights=40, n_images=50)
    for name, value in run.network.state_dict().items():
        assert torch.equal(value, before[name])
    weights = found.details["weights"]
    mean, var, increase = (
        np.array([float(w[k]) for w in weights]) for k in ("mean", "var", "increase")
    )
    shown = {(r["of"], r["order"]): float(r["value"]) for r in found.rows if r["layer"] == "all"}
    for order, values in {"variance": -var, "snr": np.abs(mean) / var}.items():
        for of, y in {"size": np.abs(increase), "signed": increase}.items():
            assert shown[of, order] == pytest.approx(spearmanr(values, y).statistic, abs=1e-3)


def test_the_last_task_is_measured_unless_another_is_asked_for(folder: Folder) -> None:
    runs = load_runs([folder("ft")])
    options = {"n_weights": 20, "n_images": 50}
    last, fifth, first = (removal(runs, task=task, **options) for task in (None, 5, 1))  # type: ignore[arg-type]
    assert last.details == fifth.details != first.details


def test_a_task_that_is_not_there_is_refused(folder: Folder) -> None:
    with pytest.raises(ConfigError, match=r"task must lie in 1 \.\.\. 5, but got 6"):
        removal(load_runs([folder("ft")]), task=6)


def test_options_are_checked_and_converted(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["removal", str(folder("ft"))]
    assert main([*command, "--kind", "shove", "--n-weights", "3"]) == 2
    shown = capsys.readouterr().err
    assert "removal.kind: input should be 'removal' or 'shift', but got 'shove'" in shown
    assert "removal.n_weights: input should be greater than or equal to 10" in shown
    assert main([*command, "--kind", "shift", "--n-weights", "20", "--n-images", "50"]) == 0
    lines = (folder("ft") / "analysis" / "removal_shift_weights.csv").read_text().splitlines()
    assert len(lines) == 1 + 20
