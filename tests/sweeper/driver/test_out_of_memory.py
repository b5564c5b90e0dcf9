"""A trial that runs out of memory on its GPU, in a real sweep on a node with a logical GPU."""

import json
import os
from pathlib import Path

import pytest
from ray.cluster_utils import Cluster

from tests.mpnet.packages import write_module
from tests.sweeper.sweeps import SMALL, Command

pytestmark = pytest.mark.slow

# A logical GPU computes nothing, so the CPU stands in for it; memory is what half of it lacks.
HUNGRY = '''"""Needs a GPU of its own."""

import ray
import torch
from mpnet.config import RunConfig
from mpnet.methods import METHODS
from mpnet.methods.plain_ft import PlainFineTuning

RunConfig.torch_device = lambda self: torch.device("cpu")


@METHODS.register("hungry")
class Hungry(PlainFineTuning):
    """Runs out of memory in the second task."""

    def begin_task(self, t):
        self.t = t

    def begin_batch(self, progress):
        if self.t == 1 and ray.get_runtime_context().get_assigned_resources()["GPU"] < 1:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
'''


def test_a_trial_that_runs_out_of_memory_goes_on_where_fewer_share_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_module(tmp_path / "outside", "my_package.hungry", HUNGRY)
    paths = [str(tmp_path / "outside"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    command = Command(tmp_path)
    run = {**SMALL["run"], "layers": {}, "method": {"name": "hungry"}}
    run |= {"training": {"epochs": 2, "batch_size": 50}}
    resources = {"cpu": 0.5, "gpu": 0.5}
    blocks = {
        "plugins": ["my_package.hungry"],
        "run": run,
        "space": {"training.learning_rate": {"grid": [1e-3, 1e-2, 3e-3]}},
        "sweep": {"sampler": "grid", "resources": resources, "checkpoint_epochs": 1, "retries": 0},
        "select": {"top": 0},
    }
    command.file.write_text(json.dumps(blocks))
    head = {"num_cpus": 2, "num_gpus": 1, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args=head)
    try:
        printed = command.run("--address", nodes.address)
    finally:
        nodes.shutdown()
    assert [trial.state for trial in command.trials()] == ["finished"] * 3
    lines = [line for line in printed.splitlines() if "ran out of memory" in line]
    assert lines and len(lines) == len(set(lines)), printed  # each trial once at most
    assert all(
        "on 0.5 of a GPU; it is tried again, and from now on each gets 1" in x for x in lines
    )
