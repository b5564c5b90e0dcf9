"""What a trial is given of a machine or a cluster; without a Ray of its own."""

from typing import Any

import pytest

from sweeper.config.settings import Resources
from sweeper.driver.cluster import Share, share
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
