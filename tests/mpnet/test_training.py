"""The training of one task."""

import pytest
import torch

from mpnet.benchmarks import TaskStream
from mpnet.config import RunConfig
from mpnet.errors import Diverged
from mpnet.training import (
    EpochReport,
    TrainingSettings,
    accuracy,
    batch_nll,
    batches,
    rate_share,
    train_task,
)
from tests.mpnet.conftest import digits_run


def _train(config: RunConfig) -> tuple[list[EpochReport], float]:
    torch.manual_seed(config.seed)
    stream = config.build_stream()
    method = config.build_method(stream)
    reports: list[EpochReport] = []
    generator = torch.Generator().manual_seed(0)
    train_task(method, stream, 0, config.training, generator, reports.append)
    return reports, accuracy(method.network, stream[0], stream[0].validation, 0)


def test_the_weights_of_the_best_validation_epoch_are_kept() -> None:
    training = {"epochs": 12, "batch_size": 20, "warmup_steps": 1, "learning_rate": 0.05}
    reports, final = _train(digits_run(training=training))
    assert final == max(report.validation_accuracy for report in reports)


def test_the_loss_falls() -> None:
    reports, _ = _train(digits_run(training={"epochs": 8, "batch_size": 50, "warmup_steps": 2}))
    assert reports[-1].loss < reports[0].loss


def test_a_loss_that_leaves_the_numbers_is_named_with_its_task_and_epoch() -> None:
    config = digits_run(training={"epochs": 3, "batch_size": 50, "learning_rate": 1e30})
    with pytest.raises(Diverged, match="task 0, epoch"):
        _train(config)


def test_an_epoch_sees_every_image_once_in_an_order_of_its_own() -> None:
    stream = digits_run().build_stream()
    generator = torch.Generator().manual_seed(0)
    first, second = (_images(stream, [0], generator) for _ in range(2))
    assert not torch.equal(first, second)
    in_order = stream[0].normalise(stream[0].train.images).flatten(1)
    for epoch in (first, second):
        torch.testing.assert_close(_sorted_rows(epoch), _sorted_rows(in_order))


def test_joint_batches_mix_tasks_and_see_every_image_once() -> None:
    stream = digits_run().build_stream()
    generator = torch.Generator().manual_seed(0)
    first_batch = next(iter(batches(stream, [0, 1, 2], 60, generator)))
    assert {group.task for group in first_batch} == {0, 1, 2}
    assert sum(len(group.labels) for group in first_batch) == 60
    everything = torch.cat([stream[i].normalise(stream[i].train.images) for i in range(3)])
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


@pytest.mark.parametrize(
    ("decay", "step", "share"),
    [
        ("none", 0, 0.1),
        ("none", 9, 1.0),
        ("none", 99, 1.0),
        ("cosine", 0, 0.1),
        ("cosine", 50, 0.5),
        ("cosine", 100, 0.0),
    ],
)
def test_the_rate_warms_up_and_falls_as_asked(decay: str, step: int, share: float) -> None:
    settings = TrainingSettings(warmup_steps=10, decay=decay)  # type: ignore[arg-type]
    assert rate_share(step, 100, settings) == pytest.approx(share)
