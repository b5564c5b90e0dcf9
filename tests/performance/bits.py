"""Whether another tree of this project trains the same weights, bit for bit.

    python -m tests.performance.bits --against /path/to/another/tree

Two short tasks of every method, on both networks, with batch norms, dropout, augmentation and the
options that change the arithmetic of a step; each tree computes in a process of its own. Prints
what differs and exits with 1 if anything does. On one machine and one PyTorch only.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from mpnet.benchmarks import Preparation, Split, Task, TaskStream
from mpnet.config import RunConfig, parse_run
from mpnet.methods import METHODS
from mpnet.training import TaskTrainer

MOMENT = ("ft", "ff", "jt", "lra", "ppbi")
SAMPLED = ("bbb", "ucb")


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and runs; the data are made up."""
    small, alexnet = {"name": "mlp", "hidden": [40, 30]}, {"name": "alexnet"}
    for name in METHODS:
        for norm in (False, True, "frozen", "per_task"):
            network = {**small, "batch_norm": norm, "dropout": 0.2 if norm else 0.0}
            yield f"{name} mlp {norm}", {"method": {"name": name}, "network": network}
        layers = {"samples": 2} if name in SAMPLED else {}
        run = {"method": {"name": name}, "network": alexnet, "layers": layers}
        yield f"{name} alexnet", run
        training = {"second_moment": "tensor", "clip_norm": 0.1, "decay": "cosine"}
        yield (
            f"{name} by tensor",
            {"method": {"name": name}, "network": small, "training": training},
        )
    for name in MOMENT:
        method = {"name": name, "variance": "adam", "rho_learning_rate": 0.01}
        layers = {"likelihood": "gaussian", "jitter_start": 0.5, "relu": "gaussian"}
        run = {"method": method, "network": {**small, "batch_norm": True}, "layers": layers}
        yield f"{name} adam", run
        run = {"method": {"name": name}, "network": {**alexnet, "batch_norm": True}}
        yield f"{name} alexnet norm", run


def made_up_stream(size: int) -> TaskStream:
    """Two tasks of random images: coloured and augmented, then grey shown as colours."""
    generator = torch.Generator().manual_seed(0)

    def task(name: str, n_channels: int, is_augmented: bool) -> Task:
        shape = (40, n_channels, size, size)
        pool = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
        split = Split(pool, torch.arange(40), torch.arange(40) % 3)
        prepare = Preparation.of(pool, n_channels=3 if n_channels == 1 else None)
        return Task(name, 3, split, split, split, prepare, is_augmented)

    return TaskStream((task("first", 3, True), task("second", 1, False)))


def digest(run: dict[str, Any]) -> str:
    """Of all weights, of what the method remembers and of the reported losses."""
    training = {"epochs": 2, "batch_size": 16, "warmup_steps": 3, **run.get("training", {})}
    config: RunConfig = parse_run({**run, "training": training})
    torch.manual_seed(0)
    stream = made_up_stream(32 if config.network["name"] == "alexnet" else 8)
    method, generator = config.build_method(stream), torch.Generator().manual_seed(0)
    found = hashlib.sha256()
    for t in range(len(stream)):
        trainer = TaskTrainer(method, stream, t, config.training)
        while not trainer.is_finished:
            found.update(repr(trainer.train_epoch(generator)).encode())
        trainer.finish()
    for name, value in method.state_dict().items():
        found.update(name.encode() + value.contiguous().numpy().tobytes())
    return found.hexdigest()


def digests_of(tree: Path, options: list[str]) -> dict[str, str]:
    """What a tree computes, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, "-P", __file__, *options]  # not its folder: it has a queue.py
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, cwd=tree)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main() -> int:
    """Compute, or have both trees compute and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="another tree")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    options = parser.parse_args()
    if options.against is None:
        torch.set_num_threads(1)
        chosen = {name: run for name, run in cases() if options.only in name}
        print(json.dumps({name: digest(run) for name, run in chosen.items()}))
        return 0
    asked = ["--only", options.only]
    ours, theirs = (
        digests_of(tree, asked) for tree in (Path(__file__).parents[2], options.against)
    )
    differ = [name for name in ours if ours[name] != theirs.get(name)]
    print(f"{len(ours)} cases, {len(differ)} differ: {', '.join(differ) or 'none'}")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main())
