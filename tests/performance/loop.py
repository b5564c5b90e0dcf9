"""The training loop against a bare loop over tensors in memory.

    python -m tests.performance.loop

One epoch of fine-tuning a 2x800 moment MLP on 6,000 random images of MNIST's shape, batch 500,
timed interleaved in one process, medians. Prints one JSON line: `ratio` is the loop's images per
second over the bare loop's (at least 0.9 wanted).
"""

import argparse
import json
from collections.abc import Callable

import torch

from mpnet.allocator import keep_freed_memory
from mpnet.benchmarks import Preparation, Split, Task, TaskStream
from mpnet.layers.moment import MomentLayers, add_kl_gradient, shared_variances, validation
from mpnet.methods.ft import FineTuning
from mpnet.networks import build_network
from mpnet.training import TaskTrainer, TrainingSettings
from tests.performance._timing import interleaved_medians

N_IMAGES, BATCH = 6000, 500


def made_up_task() -> Task:
    """Random images; hardly any for validation, which is not what is measured."""
    pool = torch.randint(0, 256, (N_IMAGES, 1, 28, 28), dtype=torch.uint8)
    labels = torch.randint(10, (N_IMAGES,))
    train, rest = (Split(pool, i, labels[i]) for i in (torch.arange(N_IMAGES), torch.arange(2)))
    return Task("made up", 10, train, rest, rest, Preparation.of(pool))


def fresh_method() -> FineTuning:
    """A network of its own for each loop."""
    return FineTuning(build_network("mlp", MomentLayers(), (1, 28, 28), [10]))


def our_epoch(task: Task) -> Callable[[], object]:
    """One epoch as `python -m mpnet` trains it."""
    trainer = TaskTrainer(fresh_method(), TaskStream((task,)), 0, TrainingSettings(epochs=1000))
    generator = torch.Generator().manual_seed(0)
    return lambda: trainer.train_epoch(generator)


def bare_epoch(task: Task) -> Callable[[], object]:
    """The least that has to be done: normalised images in memory, one optimiser."""
    method = fresh_method()
    images, labels = task.prepare(task.train.images()), task.train.labels
    optimiser = torch.optim.Adam(method.parameters(), lr=1e-3, fused=True)
    network, members = method.network, [*method.trunk(), *method.heads(0)]

    def epoch() -> None:
        for chosen in torch.randperm(N_IMAGES).split(BATCH):
            optimiser.zero_grad()
            with shared_variances(), validation(False):
                network.layers.nll(network(images[chosen], 0), labels[chosen]).backward()
                add_kl_gradient(members, 1e-5)
            optimiser.step()

    return epoch


def main() -> None:
    """Time both in turn and print their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    keep_freed_memory()
    task = made_up_task()
    epochs = {"ours": our_epoch(task), "bare": bare_epoch(task)}
    seconds = interleaved_medians(epochs, repeats)
    rate = {name: N_IMAGES / value for name, value in seconds.items()}
    shown = {f"{name}_images_per_second": round(value) for name, value in rate.items()}
    print(json.dumps({**shown, "ratio": round(rate["ours"] / rate["bare"], 3)}))


if __name__ == "__main__":
    main()
