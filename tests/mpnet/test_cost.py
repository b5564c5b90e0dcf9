"""What a run will cost: a figure from a few real steps."""

import pytest
import torch

from mpnet.cost import expected_seconds
from tests.mpnet.conftest import digits_run

TRAINING = {"batch_size": 100, "warmup_steps": 2}


def test_a_run_costs_time() -> None:
    assert 0 < expected_seconds(digits_run(), spend=0.01) < 1000


def test_the_cost_grows_with_the_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr("mpnet.cost.time.perf_counter", lambda: float(next(clock)))
    costs = [
        expected_seconds(digits_run(training={**TRAINING, "epochs": epochs}), spend=1.5)
        for epochs in (1, 10)
    ]
    assert costs[1] == pytest.approx(10 * costs[0])


def test_the_cost_is_the_time_of_a_step_for_every_batch_of_every_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each step takes a second by this clock, so the seconds count the steps."""
    clock = iter(range(10_000))
    monkeypatch.setattr("mpnet.cost.time.perf_counter", lambda: float(next(clock)))
    config = digits_run(training={**TRAINING, "epochs": 3})
    stream = config.build_stream()
    n_batches = sum(-(-len(stream[t].train) // 100) for t in range(len(stream)))
    assert expected_seconds(config, spend=3.0) == pytest.approx(3 * n_batches, rel=0.3)


def test_joint_training_costs_more_than_one_task_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(range(10_000))
    monkeypatch.setattr("mpnet.cost.time.perf_counter", lambda: float(next(clock)))
    assert expected_seconds(digits_run("jt"), spend=1.5) > expected_seconds(
        digits_run("ft"), spend=1.5
    )


def test_the_number_of_threads_is_as_before() -> None:
    before = torch.get_num_threads()
    expected_seconds(digits_run(), n_threads=before + 1, spend=0.0)
    assert torch.get_num_threads() == before


def test_what_else_the_machine_does_meanwhile_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Steps of 9 s and more, but for one of a second."""
    clock = iter([0.0, 9.0, 18.0, 19.0, 28.0, 40.0])
    monkeypatch.setattr("mpnet.cost.time.perf_counter", lambda: next(clock))
    config = digits_run(training={**TRAINING, "epochs": 1})
    stream = config.build_stream()
    n_batches = sum(-(-len(stream[t].train) // 100) for t in range(len(stream)))
    assert expected_seconds(config, spend=30.0) == pytest.approx(n_batches)
