"""EWC, SI and MAS: importance against closed forms, naive loops and finite differences."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from mpnet.benchmarks import Examples, Split
from mpnet.layers.plain import PlainLayers
from mpnet.methods._per_example import summed_over_examples
from mpnet.methods.ewc import ElasticWeightConsolidation, fisher_information
from mpnet.methods.mas import sensitivity
from mpnet.methods.si import SynapticIntelligence
from mpnet.networks import Network, Trunk
from mpnet.networks._norm import BatchNorm, normalised
from mpnet.training import TaskTrainer
from tests.mpnet.conftest import digits_run, trained

N_FEATURES, N_CLASSES = 5, 3


def softmax_regression() -> Network:
    """Logits W x + b: all of it in the trunk, the head hands it on."""
    trunk = Trunk(nn.Sequential(nn.Linear(N_FEATURES, N_CLASSES)), N_CLASSES)
    network = Network(PlainLayers(), trunk, (N_FEATURES,), [N_CLASSES]).eval()
    nn.init.eye_(network.heads[0].weight)
    nn.init.zeros_(network.heads[0].bias)
    return network


def small_network(n_hidden: int = 4) -> Network:
    """One hidden layer, two tasks."""
    body = nn.Sequential(nn.Linear(N_FEATURES, n_hidden), nn.ReLU())
    return Network(PlainLayers(), Trunk(body, n_hidden), (N_FEATURES,), [2, 3]).eval()


def some_examples(n: int = 450) -> Examples:
    """Random ones, more than are looked at together."""
    labels = torch.randint(2, (n,))
    split = Split(torch.randn(n, N_FEATURES), torch.arange(n), labels)
    return Examples(split, lambda x: x)  # type: ignore[arg-type]


# Gradients of single examples


@pytest.mark.parametrize("measure", [torch.square, torch.abs])
@pytest.mark.parametrize("kind", [True, "frozen", "per_task"])
def test_sums_over_examples_equal_a_loop_over_them(measure: object, kind: BatchNorm) -> None:
    body = nn.Sequential(
        *(nn.Conv2d(2, 3, 3), *normalised(kind, nn.BatchNorm2d(3)), nn.ReLU()),
        *(nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(12, 4), *normalised(kind, nn.BatchNorm1d(4)), nn.ReLU()),
    )
    network = Network(PlainLayers(), Trunk(body, 4), (2, 6, 6), [3, 2])
    network(torch.randn(8, 2, 6, 6), 1)  # running statistics of their own
    network.eval()
    images, trunk = torch.randn(7, 2, 6, 6), list(network.trunk_parameters())

    def length(logits: Tensor) -> Tensor:
        return logits.square().sum(1)

    expected = torch.zeros(sum(p.numel() for p in trunk))
    for image in images:
        gradients = torch.autograd.grad(length(network(image[None], 1)).sum(), trunk)
        expected += measure(torch.cat([g.flatten() for g in gradients]))  # type: ignore[operator]
    got = summed_over_examples(network, images, 1, length, measure)  # type: ignore[arg-type]
    torch.testing.assert_close(got, expected)


# EWC


def closed_form(x: Tensor, slope: Tensor) -> Tensor:
    """Mean of the slope at each logit, times x^2 for the weights, flat as the trunk is."""
    return torch.cat([(slope.T @ x.square()).flatten(), slope.sum(0)]) / len(x)


def test_the_exact_fisher_of_softmax_regression_is_the_closed_form() -> None:
    network, examples = softmax_regression(), some_examples()
    x = examples.split.images()
    p = network(x, 0).softmax(1).detach()
    torch.testing.assert_close(
        fisher_information(network, 0, examples, "exact"), closed_form(x, p * (1 - p))
    )


def test_the_empirical_fisher_of_softmax_regression_is_the_closed_form() -> None:
    network, examples = softmax_regression(), some_examples()
    x, y = examples.split.images(), F.one_hot(examples.split.labels, N_CLASSES)
    slope = (y - network(x, 0).softmax(1).detach()).square()
    torch.testing.assert_close(
        fisher_information(network, 0, examples, "empirical"), closed_form(x, slope)
    )


def test_the_sampled_fisher_tends_to_the_exact_one() -> None:
    network, examples = softmax_regression(), some_examples(20_000)
    exact, sampled = (fisher_information(network, 0, examples, f) for f in ("exact", "sample"))
    torch.testing.assert_close(sampled, exact, rtol=0.05, atol=0)


def move(network: Network) -> Tensor:
    """Put the trunk somewhere else and say where."""
    here = torch.randn(sum(p.numel() for p in network.trunk_parameters()))
    vector_to_parameters(here, network.trunk_parameters())
    return here


def test_separate_parabolas_are_summed_though_one_is_stored() -> None:
    method = ElasticWeightConsolidation(small_network(), strength=30.0)
    parabolas = []
    for t in (0, 1):
        examples, anchor = some_examples(), move(method.network)
        parabolas.append((fisher_information(method.network, t, examples, "exact"), anchor))
        method.end_task(t, examples)
    here = move(method.network)
    expected = sum(15.0 * (fisher * (here - at).square()).sum() for fisher, at in parabolas)
    torch.testing.assert_close(method.penalty(1), expected)
    assert sum(b.numel() for b in method.buffers()) == 2 * len(here) + 1


def test_online_ewc_decays_the_old_fisher_and_moves_its_anchor() -> None:
    method = ElasticWeightConsolidation(small_network(), mode="online", decay=0.25)
    fishers = []
    for t in (0, 1):
        examples, here = some_examples(), move(method.network)
        fishers.append(fisher_information(method.network, t, examples, "exact"))
        method.end_task(t, examples)
    torch.testing.assert_close(method.importance, 0.25 * fishers[0] + fishers[1])
    assert torch.equal(method.anchor, here)


# MAS


def test_mas_importance_equals_finite_differences() -> None:
    network, examples = small_network().double(), some_examples(6)
    x = examples.split.images().double()
    examples = Examples(Split(x, torch.arange(6), examples.split.labels), examples.prepare)
    start = parameters_to_vector(network.trunk_parameters()).detach()

    def lengths(at: Tensor) -> Tensor:
        vector_to_parameters(at, network.trunk_parameters())
        return network(x, 1).detach().square().sum(1)

    steps = 1e-6 * torch.eye(len(start), dtype=torch.double)
    slopes = [(lengths(start + step) - lengths(start - step)) / 2e-6 for step in steps]
    vector_to_parameters(start, network.trunk_parameters())
    expected = torch.stack(slopes).abs().mean(1)
    torch.testing.assert_close(sensitivity(network, 1, examples), expected, rtol=1e-6, atol=1e-8)


def test_mas_adds_up_over_tasks() -> None:
    first, second = (trained(digits_run("mas"), n) for n in (1, 2))
    assert (second.importance >= first.importance).all()
    assert torch.equal(second.anchor, parameters_to_vector(second.network.trunk_parameters()))


# SI


def walk_downhill(method: SynapticIntelligence, n_steps: int) -> tuple[Tensor, Tensor]:
    """Descend a quadratic in small steps; gives what each weight contributed, and that in all."""
    trunk = method.trunk()
    curvature, lowest = torch.rand(len(method.anchor)) + 0.1, torch.randn(len(method.anchor))

    def losses() -> Tensor:
        return 0.5 * curvature * (method.trunk_vector() - lowest).square()

    optimiser, before = torch.optim.SGD(trunk, lr=1e-3), losses().detach()
    for _ in range(n_steps):
        optimiser.zero_grad()
        losses().sum().backward()
        method.after_backward(0)
        for p in trunk:
            p.grad += 0.1  # type: ignore[operator]  # a penalty, which must not be counted
        optimiser.step()
        method.after_step(0)
    by_weight = before - losses().detach()
    return by_weight, by_weight.sum()


def test_the_path_adds_up_to_the_fall_of_the_loss() -> None:
    method = SynapticIntelligence(small_network())
    by_weight, in_all = walk_downhill(method, 200)
    torch.testing.assert_close(method.path, by_weight, rtol=0.01, atol=1e-4)
    torch.testing.assert_close(method.path.sum(), in_all, rtol=1e-3, atol=0)


def test_importance_is_never_negative() -> None:
    method = SynapticIntelligence(small_network(), damping=0.3)
    start = method.anchor.clone()
    gain = method.path.normal_().clone()
    here = move(method.network)
    method.end_task(0, some_examples())
    expected = (gain / ((here - start).square() + 0.3)).clamp_min(0)
    torch.testing.assert_close(method.importance, expected)
    assert (gain < 0).any()
    assert torch.equal(method.anchor, here)
    assert (method.path == 0).all()


def test_the_path_goes_back_to_the_best_epoch_with_the_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = digits_run("si", training={"epochs": 3, "batch_size": 50, "warmup_steps": 0})
    stream = config.build_stream()
    method = config.build_method(stream)
    assert isinstance(method, SynapticIntelligence)
    start = method.anchor.clone()
    trainer = TaskTrainer(method, stream, 0, config.training)
    monkeypatch.setattr(trainer, "_validation_accuracy", iter([0.6, 0.9, 0.7]).__next__)
    generator = torch.Generator().manual_seed(0)
    paths = []
    while not trainer.is_finished:
        trainer.train_epoch(generator)
        paths.append(method.path.clone())
    trainer.finish()
    moved = (method.trunk_vector().detach() - start).square()
    torch.testing.assert_close(method.importance, (paths[1] / (moved + 1e-3)).relu())


# All three


@pytest.mark.parametrize(("name", "strength"), [("ewc", 1e6), ("si", 1e4), ("mas", 1e4)])
def test_strong_springs_hold_the_weights_that_matter(name: str, strength: float) -> None:
    def shift(strength: float) -> float:
        config = digits_run(method={"name": name, "strength": strength})
        first, second = (trained(config, n) for n in (1, 2))
        moved = (second.anchor - first.anchor).abs()
        return float((moved * first.importance).sum() / first.importance.sum())

    assert shift(strength) < 0.5 * shift(0.0)


def test_a_weight_that_no_task_uses_is_free_and_its_anchor_goes_with_it() -> None:
    method = ElasticWeightConsolidation(small_network())
    for t in (0, 1):
        examples = some_examples()
        examples.split.pool[:, 0] = 0
        here = move(method.network)
        method.end_task(t, examples)
    at_dead_pixel = slice(0, 4 * N_FEATURES, N_FEATURES)
    assert (method.importance[at_dead_pixel] == 0).all()
    assert torch.equal(method.anchor[at_dead_pixel], here[at_dead_pixel])
