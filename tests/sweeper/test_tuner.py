"""What a trial is given, how it is compared, why it failed; without a Ray of its own."""

from pathlib import Path
from typing import Any

import pytest
from ray.tune.schedulers import ASHAScheduler, FIFOScheduler, MedianStoppingRule

from sweeper.errors import SweepError
from sweeper.sweep import Resources
from sweeper.tuner import Share, _reason, _scheduler, share

Machine = list[tuple[float, float]]  # CPUs and GPUs of every node
LAPTOP: Machine = [(8, 0)]
SERVER: Machine = [(16, 4)]
CLUSTER: Machine = [(16, 4), (8, 1), (4, 0)]


@pytest.mark.parametrize(
    ("asked", "machine", "given"),
    [
        ({}, LAPTOP, Share(1, 0, 8)),
        ({}, SERVER, Share(4, 1, 4)),
        ({}, CLUSTER, Share(4, 1, 5)),
        ({"cpu": 2}, LAPTOP, Share(2, 0, 4)),
        ({"cpu": 3}, LAPTOP, Share(3, 0, 2)),
        ({"cpu": 0.5}, LAPTOP, Share(0.5, 0, 16)),
        ({"cpu": 0.1}, [(2, 0)], Share(0.1, 0, 20)),
        ({"gpu": 0}, SERVER, Share(1, 0, 16)),
        ({"gpu": 0.5}, SERVER, Share(2, 0.5, 8)),
        ({"gpu": 0.3}, SERVER, Share(1, 0.3, 12)),
        ({"cpu": 1, "gpu": 0.1}, [(16, 1)], Share(1, 0.1, 10)),
        ({"cpu": 0, "gpu": 1}, SERVER, Share(0, 1, 4)),
        ({"gpu": 2}, SERVER, Share(8, 2, 2)),
        ({"gpu": 2}, CLUSTER, Share(8, 2, 2)),
    ],
)
def test_a_trial_gets_what_it_asks_for_or_its_part_of_a_node(
    asked: dict[str, Any], machine: Machine, given: Share
) -> None:
    assert share(Resources(**asked), None, machine) == given


def test_concurrency_is_an_upper_bound() -> None:
    assert share(Resources(), 3, LAPTOP).at_once == 3
    assert share(Resources(), 30, LAPTOP).at_once == 8


@pytest.mark.parametrize(
    ("asked", "machine", "words"),
    [
        ({"cpu": 9}, LAPTOP, "9 CPUs and 0 GPUs free, but there is 8 CPUs and 0 GPUs;"),
        ({"gpu": 1}, LAPTOP, "1 CPUs and 1 GPUs free, but there is 8 CPUs and 0 GPUs;"),
        ({"gpu": 0.5}, LAPTOP, "0.5 GPUs free"),
        ({"cpu": 20}, CLUSTER, "16 CPUs and 4 GPUs; 8 CPUs and 1 GPUs; 4 CPUs and 0 GPUs;"),
        ({"gpu": 5}, CLUSTER, "5 GPUs free"),
        ({"gpu": 1.5}, SERVER, "must be a fraction of one GPU or a whole number of them"),
        ({"cpu": 0, "gpu": 0}, LAPTOP, "must be given some CPU or GPU"),
    ],
)
def test_what_no_node_has_is_refused_with_what_there_is(
    asked: dict[str, Any], machine: Machine, words: str
) -> None:
    with pytest.raises(SweepError, match="sweep.resources") as error:
        share(Resources(**asked), None, machine)
    assert words in str(error.value)


@pytest.mark.parametrize(("cpu", "n_threads"), [(0, 1), (0.5, 1), (1, 1), (2.5, 2), (8, 8)])
def test_a_trial_has_as_many_threads_as_whole_cpus(cpu: float, n_threads: int) -> None:
    assert Share(cpu, 0, 1).n_threads == n_threads


@pytest.mark.parametrize(
    ("name", "kind"),
    [("none", FIFOScheduler), ("asha", ASHAScheduler), ("median", MedianStoppingRule)],
)
@pytest.mark.parametrize("n_steps", [1, 4, 1000])
def test_every_scheduler_can_be_made_for_any_number_of_steps(
    name: str, kind: type, n_steps: int
) -> None:
    assert type(_scheduler(name, n_steps)) is kind


def test_trials_are_compared_at_the_same_step_and_not_at_their_last() -> None:
    scheduler = _scheduler("asha", 100)
    assert isinstance(scheduler, ASHAScheduler)
    assert (scheduler._time_attr, scheduler._max_t) == ("step", 101)


TRACEBACK = """Failure # 1 (occurred at 2026-01-01_00-00-00)
ray::ImplicitFunc.train() (pid=1)
  File "first.py", line 1, in run
    raise KeyError("first")
KeyError: 'first'
Failure # 2 (occurred at 2026-01-01_00-00-01)
ray::ImplicitFunc.train() (pid=2)
  File "second.py", line 1, in run
    raise RuntimeError("[enforce fail] out of memory")
RuntimeError: [enforce fail] out of memory
"""
DIED = """Failure # 1 (occurred at 2026-01-01_00-00-00)
The actor died unexpectedly before finishing this task.
\tclass_name: ImplicitFunc
\tactor_id: 1234
The actor never ran - it was cancelled before it started running.
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TRACEBACK, "RuntimeError: [enforce fail] out of memory"),
        (DIED, "The actor died unexpectedly before finishing this task."),
        ("Failure # 1 (occurred at 2026-01-01_00-00-00)\n", "the worker died"),
        ("", "the worker died"),
        (None, "the worker died"),
    ],
)
def test_the_reason_is_the_line_that_says_what_happened_last(
    tmp_path: Path, text: str | None, reason: str
) -> None:
    if text is not None:
        (tmp_path / "error.txt").write_text(text)
    assert _reason(tmp_path / "error.txt") == reason
