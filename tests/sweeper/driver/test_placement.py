"""What trials get of their nodes, on a real cluster with logical GPUs."""

import os
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import tune
from ray.cluster_utils import Cluster

from mpnet.machine import limit_threads
from sweeper.config.settings import Resources
from sweeper.config.sweep import parse_sweep
from sweeper.driver import cluster
from sweeper.driver.cluster import Share
from sweeper.results.records import TrialRecord
from tests.sweeper.reporting import report_outcome, x_of
from tests.sweeper.studies import plain_sweep, run_sweeps, run_trials

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """A head without a GPU, and a node with two logical ones."""
    head = {"num_cpus": 2, "num_gpus": 0, "include_dashboard": False}
    found = Cluster(initialize_head=True, head_node_args=head)
    found.add_node(num_cpus=4, num_gpus=2)
    cluster.connect(found.address)
    yield found
    ray.shutdown()
    found.shutdown()


def watched_trial(config: dict[str, Any]) -> None:
    """Says where and when it ran."""
    start = time.time()
    time.sleep(2)
    context = ray.get_runtime_context()
    (gpu,) = os.environ["CUDA_VISIBLE_DEVICES"].split(",")
    where = int(context.get_node_id()[:6], 16)
    times = {"start": start, "end": time.time()}
    report_outcome(x_of(config), gpu=float(gpu), node=float(where), **times)


def test_gpu_trials_are_packed_by_fraction_on_nodes_that_have_one(
    nodes: Cluster, tmp_path: Path
) -> None:
    share = cluster.share(Resources(cpu=1, gpu=0.5), None, cluster.nodes())
    assert share.at_once == 4
    _, trials = run_trials(watched_trial, 8, share, tmp_path)
    (with_gpu,) = [node for node in ray.nodes() if node["Resources"].get("GPU")]
    assert {t.metrics["node"] for t in trials} == {float(int(with_gpu["NodeID"][:6], 16))}
    assert {t.metrics["gpu"] for t in trials} <= {0.0, 1.0}
    assert any(share_a_gpu(pair) for pair in combinations(trials, 2)), "none was packed"
    assert not any(share_a_gpu(three) for three in combinations(trials, 3)), "three halves"


def share_a_gpu(trials: Sequence[TrialRecord]) -> bool:
    """Whether they were on one GPU at the same time."""
    last_start = max(trial.metrics["start"] for trial in trials)
    first_end = min(trial.metrics["end"] for trial in trials)
    return len({trial.metrics["gpu"] for trial in trials}) == 1 and last_start < first_end


def crowded_trial(config: dict[str, Any]) -> None:
    """Finds memory only where no more than one other shares its GPU."""
    gpu = config["assignment"].surroundings.gpu
    if gpu < 0.5:
        tune.report({"crowded": "CUDA out of memory"})
    else:
        report_outcome(x_of(config), gpu=gpu)


def test_trials_without_memory_on_their_gpus_finish_where_fewer_share_one(
    nodes: Cluster, tmp_path: Path
) -> None:
    share = cluster.share(Resources(cpu=0.1), None, cluster.nodes(), n_per_gpu=4)
    assert (share.gpu, share.at_once) == (0.25, 8)
    _, trials = run_trials(crowded_trial, 6, share, tmp_path)
    assert {t.metrics["gpu"] for t in trials} == {0.5}


def threads_trial(config: dict[str, Any]) -> None:
    """Says how many threads PyTorch has, and how many it has once it is told."""
    import torch

    before = torch.get_num_threads()
    limit_threads(2)
    report_outcome(x_of(config), before=before, threads=torch.get_num_threads())


def test_a_trial_has_no_more_threads_than_cpus(nodes: Cluster, tmp_path: Path) -> None:
    share = cluster.share(Resources(cpu=2, gpu=0), None, cluster.nodes())
    assert share.at_once == 3
    _, trials = run_trials(threads_trial, 3, share, tmp_path)
    assert {t.metrics["threads"] for t in trials} == {2}
    assert max(t.metrics["before"] for t in trials) <= 2


# Workers that are used again


def lingering_trial(config: dict[str, Any]) -> None:
    """Stopped, it ends later than Tune waits for it."""
    try:
        for step in range(1, 100 if x_of(config) == 0 else 2):
            tune.report({"score": 0.0, "acc": 0.0, "bwt": 0.0, "step": step})
    except SystemExit:
        time.sleep(6)
        raise
    report_outcome(0.5)


def test_a_trial_is_not_lost_when_the_one_before_it_is_slow_to_end(
    nodes: Cluster, tmp_path: Path
) -> None:
    blocks = {
        "run": {},
        "space": {"x": {"grid": [0, 1, 2]}},
        "sweep": {"sampler": "grid"},
        "select": {"top": 0},
    }
    sweep = plain_sweep(parse_sweep(blocks, "s"), tmp_path, Share(1, 0, 1))
    sweep._unwanted.add(0)  # as if somebody had typed `sweeper stop --trial 0`
    run_sweeps(lingering_trial, [sweep])
    states = [trial.state for trial in sweep.ledger.trial_records()]
    assert states == ["stopped", "finished", "finished"]


# The end of a queue


def test_a_queue_that_is_over_holds_no_device(nodes: Cluster, tmp_path: Path) -> None:
    run_trials(quick_trial, 3, Share(1, 0, 2), tmp_path)
    deadline = time.monotonic() + 20  # Ray ends workers by and by
    while ray.available_resources().get("CPU") != ray.cluster_resources()["CPU"]:
        assert time.monotonic() < deadline, "a worker or its place is still there"
        time.sleep(0.2)


def quick_trial(config: dict[str, Any]) -> None:
    """Nothing but an outcome."""
    report_outcome(x_of(config))
