"""How far a queue is, and how long the rest will take."""

import time
from pathlib import Path

import pytest

from sweeper.driver.progress import Progress
from tests.sweeper.driver.queues import Queue, actives, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk", "in_order")
WEIGHT = 10.0  # seconds that a trial is expected to take


@pytest.fixture
def queue(tmp_path: Path) -> Queue:
    """A sweep of four trials, of which one is rerun twice."""
    queue = Queue(*actives(tmp_path, swept("s", 4, {"top": 1, "at_least": 1})))
    queue.listener = Progress(queue.sweeps, [WEIGHT])  # type: ignore[assignment]
    return queue


def progress_after(queue: Queue, seconds: float) -> Progress:
    assert isinstance(queue.listener, Progress)
    queue.listener.start = time.monotonic() - seconds
    return queue.listener


def test_before_a_tenth_of_a_trial_nothing_can_be_told(queue: Queue) -> None:
    assert len(queue.all_now()) == 4
    assert progress_after(queue, 60).seconds_left is None


def test_what_is_left_takes_as_long_as_what_was_done(queue: Queue) -> None:
    first, *_ = queue.all_now()
    queue.finish(first)
    left = progress_after(queue, 20).seconds_left  # twice as long as expected
    assert left == pytest.approx(2 * (3 + 2) * WEIGHT, rel=0.01)


def test_half_a_trial_counts_as_half(queue: Queue) -> None:
    first, *_ = queue.all_now()
    queue.reported(first, {"step": queue.sweeps[0].n_steps / 2})
    left = progress_after(queue, 5).seconds_left
    assert left == pytest.approx((3.5 + 2) * WEIGHT, rel=0.01)


def test_a_trial_that_is_tried_again_has_done_nothing(queue: Queue) -> None:
    first, *_ = queue.all_now()
    queue.ended(first, {"crash": "the worker died"})
    assert progress_after(queue, 20).seconds_left is None


def test_a_trial_at_work_says_where_it_is_counted_from_one(queue: Queue) -> None:
    first, *_ = queue.all_now()
    place = {"step": 7, "task": 1, "n_tasks": 5, "epoch": 2, "n_epochs": 10}
    queue.reported(first, {**place, "score": 0.5, "hostname": "node"})
    running, *others = progress_after(queue, 0).running(0)
    assert len(others) == 3
    assert (running.place, running.acc, running.where) == ("task 2/5, epoch 3/10", 0.5, "node")
