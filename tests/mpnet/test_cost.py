"""What a run will cost: a figure from a few real steps."""

import itertools

import pytest
import torch

from mpnet.cost import _busy_share, expected_seconds, measured_need
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


class _Meter:
    """A device that works for so many seconds on each step, by a clock that is set by hand."""

    def __init__(self, clock: list[float], work: float, other: float) -> None:
        self.clock, self.per_step, self.per_turn = clock, work, max(work, other)
        self.total, self.n_steps = 0.0, 0

    def work(self, step: object) -> None:
        self.n_steps += 1
        self.clock[0] += self.per_turn
        self.total += self.per_step

    def seconds(self) -> float:
        total, self.total = self.total, 0.0
        return total


@pytest.mark.parametrize(
    ("work", "other", "busy"), [(0.1, 0.4, 0.25), (0.4, 0.1, 1.0), (0.2, 0.2, 1.0)]
)
def test_a_device_is_busy_for_its_part_of_the_time(
    work: float, other: float, busy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("mpnet.cost.time.perf_counter", lambda: clock[0])
    meter = _Meter(clock, work, other)
    steps = itertools.repeat(lambda: None)
    assert _busy_share(steps, meter, spend=4.0) == pytest.approx(busy)
    assert meter.n_steps > 8


def test_a_run_on_a_cpu_needs_nothing_of_a_gpu() -> None:
    assert measured_need(digits_run()) is None
