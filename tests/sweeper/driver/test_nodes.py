"""A node of a cluster that lacks something is named before the first trial."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import ray

from tests.sweeper.clusters import cluster
from tests.sweeper.sweeps import Command

pytestmark = pytest.mark.slow
MNIST = Path(os.environ.get("MPNET_DATA", Path.home() / ".cache" / "mpnet")) / "MNIST"


@contextmanager
def blind_node(address: str, hidden: Path) -> Iterator[None]:
    """A node that sees an empty folder where the others see `hidden`, and has no data."""
    start = f"{Path(sys.executable).parent}/ray start --address={address} --num-cpus=1 --block"
    process = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", f"mount -t tmpfs tmpfs {hidden} && exec {start}"],
        env={**os.environ, "MPNET_DATA": str(hidden / "nothing")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for_nodes(address, 2)
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_for_nodes(address: str, n_nodes: int) -> None:
    ray.init(address=address)
    for _ in range(600):
        if sum(node["Alive"] for node in ray.nodes()) == n_nodes:
            break
        time.sleep(0.2)
    else:
        raise AssertionError("the node did not join")
    ray.shutdown()


@pytest.mark.skipif(os.geteuid() != 0, reason="a node with a view of its own takes root")
@pytest.mark.skipif(not MNIST.exists(), reason=f"{MNIST} is not there")
def test_a_node_without_storage_or_data_is_named_before_the_first_trial(tmp_path: Path) -> None:
    command = Command(tmp_path, "run.benchmark={name: split_mnist, max_train_per_class: 20}")
    with cluster(1) as nodes, blind_node(nodes.address, tmp_path):
        printed = command.run("--address", nodes.address, code=2)
    faults = [line for line in printed.splitlines() if line.startswith("node ")]
    assert len({line.split(": ")[0] for line in faults}) == 1, printed
    for words in (
        "sweep.storage: every node must see",
        "--output: every node must see",
        "'mnist'",
    ):
        assert any(words in line for line in faults), printed
    assert not (command.folder / "study.journal").exists()
