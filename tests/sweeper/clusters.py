"""Ray clusters of several nodes on this machine: real processes, each node with its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from ray.cluster_utils import Cluster


@contextmanager
def cluster(n_nodes: int) -> Iterator[Cluster]:
    """Nodes of one CPU each; the first is the head."""
    head = {"num_cpus": 1, "include_dashboard": False}
    found = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(n_nodes - 1):
            found.add_node(num_cpus=1)
        yield found
    finally:
        found.shutdown()
