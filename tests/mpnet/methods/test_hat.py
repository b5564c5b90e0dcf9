"""HAT: gates, their gradient, and what masks keep from moving."""

import pytest
import torch
from torch import Tensor

from mpnet.benchmarks import Preparation, Split, Task, TaskStream
from mpnet.config import RunConfig
from mpnet.layers.gated import GatedLayers
from mpnet.methods import Progress
from mpnet.methods.hat import HardAttention
from mpnet.networks import build_network
from mpnet.training import TaskTrainer, TrainingSettings, batches
from tests.mpnet.conftest import digits_run, trained

N_HIDDEN = (6, 5)
OPTIMISERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.01, momentum=0.9),
}


def random_stream(shape: tuple[int, ...], n_images: int = 16) -> TaskStream:
    """Two tasks of random images."""

    def task(name: str) -> Task:
        pool = torch.randint(0, 256, (n_images, *shape), dtype=torch.uint8)
        split = Split(pool, torch.arange(n_images), torch.arange(n_images) % 2)
        return Task(name, 2, split, split, split, Preparation.of(pool))

    return TaskStream((task("a"), task("b")))


def after_one_task(network: str, stream: TaskStream, **options: object) -> HardAttention:
    """A network of which the first task is done and uses a random half of the units."""
    model = build_network(network, GatedLayers(), stream.input_shape, [2, 2], **options)
    method = HardAttention(model).eval()
    with torch.no_grad():
        method.embeddings[0].copy_(6 * torch.randn(len(method.mask)).sign())
    method.end_task(0, stream[0].examples(stream[0].train))
    assert set(method.mask.tolist()) == {0.0, 1.0}
    return method


def train_second_task(method: HardAttention, stream: TaskStream, optimiser: str) -> None:
    """A few epochs with an optimiser of choice."""
    trainer = TaskTrainer(method, stream, 1, TrainingSettings(epochs=2, batch_size=5))
    chosen = OPTIMISERS[optimiser](trainer.trained)
    trainer.optimiser.step = lambda _: chosen.step()  # type: ignore[method-assign]
    while not trainer.is_finished:
        trainer.train_epoch(torch.Generator().manual_seed(0))
    trainer.finish()


# Gates


@pytest.mark.parametrize("slope", [0.25, 1.0, 3.0, 10.0])
def test_the_gradient_of_an_embedding_is_corrected_as_in_the_paper(slope: float) -> None:
    method = after_one_task("mlp", random_stream((1, 2, 2)), hidden=N_HIDDEN).double().train()
    embedding = method.embeddings[1]
    method.slope = slope
    (got,) = torch.autograd.grad(method.gates(1).square().sum(), embedding)
    (real,) = torch.autograd.grad((slope * embedding).sigmoid().square().sum(), embedding)
    correction = ((slope * embedding).cosh() + 1) / (embedding.cosh() + 1) * 400 / slope
    torch.testing.assert_close(got, (real * correction).detach())


def test_gates_get_steeper_within_every_epoch_and_are_steepest_at_evaluation() -> None:
    method = after_one_task("mlp", random_stream((1, 2, 2)), hidden=N_HIDDEN)
    for epoch, slope in ((0.0, 1 / 400), (0.5, 200 + 0.5 / 400), (0.0, 1 / 400)):
        method.begin_batch(Progress(epoch=epoch, task=0.7))
        assert method.slope == pytest.approx(slope)
        expected = (slope * method.embeddings[1]).sigmoid()
        torch.testing.assert_close(method.train().gates(1), expected)
        expected = (400 * method.embeddings[1]).sigmoid()
        torch.testing.assert_close(method.eval().gates(1), expected)


def test_a_closed_gate_lets_nothing_through_for_its_task_only() -> None:
    method = after_one_task("mlp", random_stream((1, 2, 2)), hidden=N_HIDDEN)
    seen: list[Tensor] = []
    method.network.trunk[-1].register_forward_hook(lambda _, __, out: seen.append(out))
    with torch.no_grad():
        method.embeddings[1].fill_(6.0)
        for t in (0, 1):
            method.network(torch.randn(50, 1, 2, 2), t)
    closed = method.mask[N_HIDDEN[0] :] == 0
    assert (seen[0][:, closed] == 0).all()
    assert (seen[1][:, closed] != 0).any()


def test_the_penalty_counts_the_free_units_that_are_taken() -> None:
    method = after_one_task("mlp", random_stream((1, 2, 2)), hidden=N_HIDDEN)
    gates, free = method.gates(1), method.mask == 0
    torch.testing.assert_close(method.penalty(1), 0.75 * gates[free].mean())


def test_the_penalty_is_zero_when_no_unit_is_left() -> None:
    method = after_one_task("mlp", random_stream((1, 2, 2)), hidden=N_HIDDEN)
    method.mask.fill_(1.0)
    penalty = method.penalty(1)
    penalty.backward()
    assert penalty == 0
    assert (method.embeddings[1].grad == 0).all()


@pytest.mark.parametrize("t", [0, 1])
def test_embeddings_have_a_rate_of_their_own(t: int) -> None:
    options = {"network": {"name": "mlp", "hidden": [16]}, "seed": 1}
    moved = [
        _moved(digits_run(method={"name": "hat", "embedding_learning_rate": rate}, **options), t)
        for rate in (0.01, 0.02)
    ]
    torch.testing.assert_close(moved[1], 2 * moved[0])


def _moved(config: RunConfig, t: int) -> Tensor:
    """What the first step of a task adds to its embedding."""
    method, stream = trained(config, t), config.build_stream()
    before = method.embeddings[t].detach().clone()
    trainer = TaskTrainer(method.train(), stream, t, config.training)
    generator = torch.Generator().manual_seed(0)
    trainer.train_step(next(batches(stream, [t], 100, generator)))
    return method.embeddings[t].detach() - before


def test_an_embedding_is_trained_with_its_task_only_and_stays_within_bounds() -> None:
    method = trained(digits_run("hat"), 0)
    assert isinstance(method, HardAttention)
    before = [e.detach().clone() for e in method.embeddings]
    after = list(trained(digits_run("hat"), 1).embeddings)  # type: ignore[arg-type]
    assert [torch.equal(a, b) for a, b in zip(before, after, strict=True)] == [False] + [True] * 4
    with torch.no_grad():
        method.embeddings[0].copy_(100 * before[0])
    method.after_step(0)
    assert method.embeddings[0].abs().max() == 6


# Masks


def test_a_weight_takes_the_share_that_its_two_units_leave() -> None:
    method = after_one_task("mlp", random_stream((1, 2, 2)), hidden=N_HIDDEN)
    method.mask.copy_(torch.rand_like(method.mask))
    first, second = method.mask.split(list(N_HIDDEN))
    expected = [
        (1 - first).unsqueeze(1).expand(6, 4),
        1 - first,
        1 - torch.minimum(second.unsqueeze(1), first),
        1 - second,
    ]
    scales = method.update_scales(1, method.embedding_learning_rate)
    assert [p for p, _ in scales] == list(method.network.trunk_parameters())
    torch.testing.assert_close([scale for _, scale in scales], expected)


def test_the_mask_of_a_channel_holds_for_all_its_pixels() -> None:
    stream = random_stream((3, 32, 32), n_images=2)
    method = after_one_task("alexnet", stream)
    method.mask.copy_(torch.rand_like(method.mask))
    channels, units = method.mask.split(method.sizes)[2:4]
    (scale,) = (s for p, s in method.update_scales(1, 0.03) if p.shape == (2048, 1024))
    pixels = channels.view(-1, 1, 1).expand(256, 2, 2).flatten()
    torch.testing.assert_close(scale, 1 - torch.minimum(units.unsqueeze(1), pixels))


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_weights_between_used_units_do_not_move_under_any_optimiser(optimiser: str) -> None:
    stream = random_stream((1, 4, 4))
    method = after_one_task("mlp", stream, hidden=[20, 20])
    before = [p.detach().clone() for p in method.network.trunk_parameters()]
    first, second = (part == 1 for part in method.mask.split(method.sizes))
    held = [first, first, second[:, None] & first, second]
    train_second_task(method, stream, optimiser)
    for old, new, rows in zip(before, method.network.trunk_parameters(), held, strict=True):
        assert torch.equal(old[rows], new[rows])
        assert not torch.equal(old[~rows], new[~rows])


@pytest.mark.parametrize(
    ("network", "shape", "options"),
    [("mlp", (1, 4, 4), {"hidden": [30, 30, 30]}), ("alexnet", (1, 20, 20), {"dropout": True})],
)
def test_logits_of_the_old_task_stay_the_same_bit_for_bit(
    network: str, shape: tuple[int, ...], options: dict[str, object]
) -> None:
    stream = random_stream(shape, n_images=6)
    method = after_one_task(network, stream, **options)
    x = torch.randn(10, *shape)
    before = [method.eval().network(x, t).detach() for t in (0, 1)]
    train_second_task(method, stream, "adam")
    after = [method.eval().network(x, t).detach() for t in (0, 1)]
    assert torch.equal(after[0], before[0])
    assert not torch.equal(after[1], before[1])
