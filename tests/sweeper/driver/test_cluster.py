"""What a trial is given of a machine or a cluster; without a Ray of its own."""

from typing import Any

import pytest

from sweeper.config.settings import Resources
from sweeper.driver.cluster import Share, share, trials_per_gpu
from sweeper.errors import SweepError

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
        ({"cpu": 9}, LAPTOP, "9 CPUs and 0 GPUs free, but there are 8 CPUs and 0 GPUs;"),
        ({"gpu": 1}, LAPTOP, "1 CPU and 1 GPU free, but there are 8 CPUs and 0 GPUs;"),
        ({"gpu": 0.5}, LAPTOP, "0.5 GPUs free"),
        ({"cpu": 20}, CLUSTER, "16 CPUs and 4 GPUs; 8 CPUs and 1 GPU; 4 CPUs and 0 GPUs;"),
        ({"gpu": 2}, SERVER, "a trial trains on one GPU and others would stand idle, but got 2;"),
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
    ("memory", "busy", "n_trials"),
    [
        (0.05, 1.0, 1),  # a GPU that one trial keeps busy
        (0.05, 0.8, 1),
        (0.05, 0.5, 2),
        (0.05, 0.24, 4),
        (0.05, 0.01, 8),  # there are never more
        (0.4, 0.1, 2),  # as many as its memory has room for
        (0.46, 0.1, 1),
        (0.95, 0.1, 1),
        (0.0, 0.0, 8),
    ],
)
def test_as_many_trials_share_a_gpu_as_fit_and_keep_it_busy(
    memory: float, busy: float, n_trials: int
) -> None:
    assert trials_per_gpu(memory, busy) == n_trials


@pytest.mark.parametrize(
    ("n_per_gpu", "machine", "given"),
    [
        (4, SERVER, Share(1, 0.25, 16)),
        (2, SERVER, Share(2, 0.5, 8)),
        (3, [(16, 1)], Share(5, 0.3333, 3)),
        (6, [(16, 1)], Share(2, 0.1666, 6)),
        (4, LAPTOP, Share(1, 0, 8)),
    ],
)
def test_what_was_measured_decides_where_nothing_is_asked_for(
    n_per_gpu: int, machine: Machine, given: Share
) -> None:
    assert share(Resources(), None, machine, n_per_gpu) == given
    assert share(Resources(gpu=0), None, machine, n_per_gpu).gpu == 0


def test_half_as_many_trials_have_more_room_on_a_gpu() -> None:
    eight = Share(1, 0.125, 16)
    sizes = [eight.roomier(), eight.roomier().roomier(), eight.roomier().roomier().roomier()]
    assert [(s.gpu, s.at_once) for s in sizes] == [(0.25, 8), (0.5, 4), (1.0, 2)]
    assert sizes[-1].roomier() == sizes[-1]
    assert Share(1, 0, 4).roomier() == Share(1, 0, 4)
    assert Share(1, 0.3333, 3).roomier().gpu == 1.0
