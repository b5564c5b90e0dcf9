"""Ray clusters of several nodes on this machine: real processes, each node with its own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from ray._private import services
from ray.cluster_utils import Cluster

_ask = services.get_node
_PATIENCE = 300.0  # seconds


def _wait_for(gcs_address: str, node_id: str) -> Any:
    """A node once it is there: the 30 s that Ray gives it are too few on a busy machine."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return _ask(gcs_address, node_id)
        except RuntimeError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)


@contextmanager
def cluster(n_nodes: int) -> Iterator[Cluster]:
    """Nodes of one CPU each; the first is the head."""
    head = {"num_cpus": 1, "include_dashboard": False}
    with patch.object(services, "get_node", _wait_for):
        found = Cluster(initialize_head=True, head_node_args=head)
        try:
            for _ in range(n_nodes - 1):
                found.add_node(num_cpus=1)
            yield found
        finally:
            found.shutdown()
