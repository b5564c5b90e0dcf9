"""One training step of the rivals against deterministic fine-tuning.

    python -m tests.performance.rivals
    python -m tests.performance.rivals --network alexnet --repeats 9 --methods hat si

Batch 500 of the second task, when importance and masks are in force; timed interleaved in one
process, medians. Prints a table and one JSON line: the time of each method's step over that of
`plain_ft` (wanted: at most 1.3 for ewc, si and mas, at most 1.5 for hat).
"""

import argparse
import json
from collections.abc import Sequence

import torch
from rich.console import Console
from rich.table import Table

from mpnet.allocator import keep_freed_memory
from mpnet.benchmarks import Preparation, Split, Task, TaskStream
from mpnet.layers import FAMILIES
from mpnet.methods import METHODS
from mpnet.networks import build_network
from mpnet.training import TaskTrainer, TrainingSettings, batches
from tests.performance._timing import Step, interleaved_medians

SHAPES = {"mlp": (1, 28, 28), "alexnet": (3, 32, 32)}
BASELINE = "plain_ft"
BATCH, N_CLASSES = 500, 2


def made_up_stream(shape: tuple[int, ...]) -> TaskStream:
    """Two tasks of random images, two batches each."""

    def task(name: str) -> Task:
        pool = torch.randint(0, 256, (2 * BATCH, *shape), dtype=torch.uint8)
        train = Split(pool, torch.arange(len(pool)), torch.arange(len(pool)) % N_CLASSES)
        return Task(name, N_CLASSES, train, train, train, Preparation.of(pool))

    return TaskStream((task("first"), task("second")))


def step_of(name: str, network: str, stream: TaskStream) -> Step:
    """The step that `mpnet.training` takes in the second task."""
    torch.manual_seed(0)
    kind = METHODS[name]
    layers = FAMILIES[kind.family]()
    method = kind(build_network(network, layers, stream.input_shape, stream.n_classes))
    method.eval().end_task(0, stream[0].examples(stream[0].train))
    trainer = TaskTrainer(method.train(), stream, 1, TrainingSettings(epochs=1000))
    batch = next(batches(trainer.course.stream, [1], BATCH, torch.Generator().manual_seed(0)))
    return lambda: trainer.train_step(batch)


def report(network: str, seconds: dict[str, float]) -> None:
    """A table for people and a line for machines."""
    ratios = {name: value / seconds[BASELINE] for name, value in seconds.items()}
    table = Table(title=f"{network}, batch {BATCH}: one training step")
    for column in ("", "milliseconds", f"over {BASELINE}"):
        table.add_column(column, justify="right")
    for name, value in seconds.items():
        table.add_row(name, f"{1e3 * value:.1f}", f"{ratios[name]:.2f}")
    Console().print(table)
    print(json.dumps({"network": network, **{n: round(r, 3) for n, r in ratios.items()}}))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--network", choices=sorted(SHAPES), default="mlp")
    parser.add_argument("--repeats", type=int, help="rounds (default 41 for mlp, 9 for alexnet)")
    parser.add_argument("--methods", nargs="+", default=["ewc", "si", "mas", "hat"])
    options = parser.parse_args(arguments)
    repeats = options.repeats or (41 if options.network == "mlp" else 9)
    keep_freed_memory()
    stream = made_up_stream(SHAPES[options.network])
    names = dict.fromkeys([BASELINE, *options.methods])
    steps = {name: step_of(name, options.network, stream) for name in names}
    report(options.network, interleaved_medians(steps, repeats))


if __name__ == "__main__":
    main()
