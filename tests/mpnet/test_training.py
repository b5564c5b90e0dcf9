"""The training of one task."""

import pytest
import torch

from mpnet import training
from mpnet.benchmarks import Examples, Split, TaskStream
from mpnet.config import RunConfig
from mpnet.errors import Dead, Diverged
from mpnet.methods import Progress
from mpnet.methods.ft import FineTuning
from mpnet.networks import Network
from mpnet.training import (
    EpochReport,
    TaskTrainer,
    batch_nll,
    batches,
    standard_error,
)
from tests.mpnet.conftest import digits_run, train_task
from tests.mpnet.test_capture import FakeGraph


def _reports(config: RunConfig) -> list[EpochReport]:
    torch.manual_seed(config.seed)
    stream = config.build_stream()
    generator = torch.Generator().manual_seed(0)
    return train_task(config.build_method(stream), stream, 0, config.training, generator)


@pytest.mark.parametrize(
    ("errors_below", "kept"),
    [
        ([9, 0, 0, 2], 2),  # of equals the latest
        ([9, 0, 0.9, 1.1], 2),
        ([9, 3, 3.5, 0, 1.1], 3),  # the best may come later
        ([9, 3, 0, 0.9], 3),
        ([0, 1.1, 9], 0),
    ],
)
def test_the_latest_weights_within_a_standard_error_of_the_best_are_kept(
    errors_below: list[float], kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = digits_run(training={"epochs": len(errors_below), "batch_size": 100})
    stream = config.build_stream()
    trainer = TaskTrainer(config.build_method(stream), stream, 0, config.training)
    error = standard_error(0.9, len(stream[0].validation))
    shown = iter([0.9 - n * error for n in errors_below])
    monkeypatch.setattr(trainer, "_validation_accuracy", lambda: next(shown))
    generator = torch.Generator().manual_seed(0)
    weights = []
    while not trainer.is_finished:
        trainer.train_epoch(generator)
        weights.append(trainer.trained[0].detach().clone())
    trainer.finish()
    assert [torch.equal(trainer.trained[0], w) for w in weights].index(True) == kept


def test_standard_error_of_an_accuracy_is_that_of_a_binomial() -> None:
    answers = torch.distributions.Binomial(400, torch.tensor(0.9))
    assert standard_error(0.9, 400) == pytest.approx(float(answers.stddev) / 400)


def test_patience_ends_a_task_that_gets_no_better() -> None:
    training = {"epochs": 50, "batch_size": 50, "learning_rate": 1e-9, "patience": 3}
    assert len(_reports(digits_run(training=training))) == 4


@pytest.mark.parametrize(
    ("decay", "shown", "divided"),
    [
        ("plateau", [5, 5, 4, 6, 6, 6, 6, 6], [1, 1, 1 / 3, 1 / 3, 1 / 3, 1 / 9, 1 / 9]),
        ("plateau", [1, 2, 3, 4, 5, 6, 7, 8], [1] * 7),
        ("none", [5, 5, 5, 5, 5, 5, 5, 5], [1] * 7),
    ],
)
@pytest.mark.parametrize("has_graph", [False, True])
def test_a_plateau_lowers_the_rate_to_a_third_wherever_it_is_kept(
    decay: str,
    shown: list[float],
    divided: list[float],
    has_graph: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {"epochs": 8, "batch_size": 500, "warmup_steps": 0, "plateau_epochs": 2}
    config = digits_run(training={**options, "decay": decay, "learning_rate": 0.01})
    stream = config.build_stream()
    if has_graph:
        monkeypatch.setattr(training, "graph_for", lambda *_: FakeGraph())
    trainer = TaskTrainer(config.build_method(stream), stream, 0, config.training)
    accuracies = iter([0.5 + value / 100 for value in shown])
    monkeypatch.setattr(trainer, "_validation_accuracy", lambda: next(accuracies))
    rates, generator = [], torch.Generator().manual_seed(0)
    while not trainer.is_finished:
        trainer.train_epoch(generator)
        rates.append(float(trainer._rate))
    assert rates == pytest.approx([0.01, *(0.01 * part for part in divided)])


def test_a_task_that_rests_on_wrong_answers_is_dead() -> None:
    config = digits_run(layers={"likelihood": "gaussian", "jitter": 1e-3})
    stream = config.build_stream()
    method = config.build_method(stream)
    head = method.network.heads[0]
    with torch.no_grad():
        head.bias.mean.copy_(torch.tensor([300.0, -300.0]))
    trainer = TaskTrainer(method, stream, 0, config.training)
    with pytest.raises(Dead, match="task 1, epoch 1"):
        trainer.train_epoch(torch.Generator().manual_seed(0))


def test_a_task_that_rests_on_right_answers_is_not_dead() -> None:
    config = digits_run(training={"epochs": 60, "batch_size": 20, "learning_rate": 0.1})
    reports = _reports(config)
    assert len(reports) == 60
    assert reports[-1].validation_accuracy > 0.9


def test_the_loss_falls() -> None:
    reports = _reports(digits_run(training={"epochs": 8, "batch_size": 50, "warmup_steps": 2}))
    assert reports[-1].loss < reports[0].loss


def test_a_loss_that_leaves_the_numbers_is_named_with_its_task_and_epoch() -> None:
    config = digits_run(training={"epochs": 3, "batch_size": 50, "learning_rate": 1e30})
    with pytest.raises(Diverged, match="task 1, epoch"):
        _reports(config)


def test_an_epoch_sees_every_image_once_in_an_order_of_its_own() -> None:
    stream = digits_run().build_stream()
    generator = torch.Generator().manual_seed(0)
    first, second = (_images(stream, [0], generator) for _ in range(2))
    assert not torch.equal(first, second)
    in_order = stream[0].prepare(stream[0].train.images()).flatten(1)
    for epoch in (first, second):
        torch.testing.assert_close(_sorted_rows(epoch), _sorted_rows(in_order))


def test_joint_batches_mix_tasks_and_see_every_image_once() -> None:
    stream = digits_run().build_stream()
    generator = torch.Generator().manual_seed(0)
    first_batch = next(iter(batches(stream, [0, 1, 2], 60, generator)))
    assert {group.task for group in first_batch} == {0, 1, 2}
    assert sum(len(group.labels) for group in first_batch) == 60
    everything = torch.cat([stream[i].prepare(stream[i].train.images()) for i in range(3)])
    seen = _images(stream, [0, 1, 2], generator)
    torch.testing.assert_close(_sorted_rows(seen), _sorted_rows(everything.flatten(1)))


def test_the_loss_of_a_mixed_batch_is_the_mean_over_its_examples() -> None:
    config = digits_run("jt")
    stream = config.build_stream()
    network = config.build_method(stream).network
    batch = next(iter(batches(stream, [0, 1], 50, torch.Generator().manual_seed(0))))
    by_task = [
        network.layers.likelihood.per_example(network(group.images, group.task), group.labels)
        for group in batch
    ]
    torch.testing.assert_close(batch_nll(network, batch), torch.cat(by_task).mean())


def _images(stream: TaskStream, tasks: list[int], generator: torch.Generator) -> torch.Tensor:
    return torch.cat(
        [group.images for batch in batches(stream, tasks, 32, generator) for group in batch]
    ).flatten(1)


def _sorted_rows(x: torch.Tensor) -> torch.Tensor:
    return torch.stack(sorted(x, key=lambda row: row.tolist()))


class _Listening(FineTuning):
    """Writes down what it is asked, and whether its trunk has a gradient then."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.asked: list[str] = []
        self.progress: list[Progress] = []

    def begin_batch(self, progress: Progress) -> None:
        self.asked.append("begin_batch")
        self.progress.append(progress)

    def after_backward(self, t: int) -> None:
        self.asked.append("after_backward")
        self.likelihood = [p.grad.clone() for p in self.network.trunk_parameters()]
        self.before = [p.detach().clone() for p in self.network.trunk_parameters()]

    def add_penalty_gradient(self, t: int) -> None:
        self.asked.append("add_penalty_gradient")
        for p, gradient in zip(self.network.trunk_parameters(), self.likelihood, strict=True):
            assert torch.equal(p.grad, gradient)

    def after_step(self, t: int) -> None:
        self.asked.append("after_step")
        pairs = zip(self.network.trunk_parameters(), self.before, strict=True)
        assert not any(torch.equal(p, before) for p, before in pairs)

    def end_task(self, t: int, examples: Examples) -> None:
        self.asked.append("end_task")
        self.examples, self.was_training = examples, self.training


@pytest.fixture(scope="module")
def listening() -> tuple[_Listening, TaskStream]:
    """A method after two epochs of the first task."""
    config = digits_run()
    stream = config.build_stream()
    method = _Listening(config.build_method(stream).network)
    train_task(method, stream, 0, config.training, torch.Generator().manual_seed(0))
    return method, stream


def test_a_method_is_asked_in_order(listening: tuple[_Listening, TaskStream]) -> None:
    step = ["begin_batch", "after_backward", "add_penalty_gradient", "after_step"]
    method, _ = listening
    assert method.asked == step * (len(method.asked) // 4) + ["end_task"]


def test_progress_starts_anew_with_every_epoch_and_goes_on_over_the_task(
    listening: tuple[_Listening, TaskStream],
) -> None:
    method, _ = listening
    n = len(method.progress) // 2
    assert [p.epoch for p in method.progress] == [i / n for i in range(n)] * 2
    assert [p.task for p in method.progress] == [i / (2 * n) for i in range(2 * n)]


def test_a_finished_task_shows_its_training_images_and_no_others(
    listening: tuple[_Listening, TaskStream],
) -> None:
    method, stream = listening
    assert not method.was_training
    assert method.examples.split is stream[0].train


@pytest.mark.parametrize(("n", "length"), [(None, 7), (9, 7), (7, 7), (3, 3), (1, 1)])
def test_thinned_examples_are_spread_evenly(n: int | None, length: int) -> None:
    train = digits_run().build_stream()[0].train
    split = Split(train.pool, train.index[:7], torch.arange(7))
    labels = Examples(split, lambda x: x).thinned(n).split.labels  # type: ignore[arg-type]
    assert labels.tolist() == [i * 7 // length for i in range(length)]
