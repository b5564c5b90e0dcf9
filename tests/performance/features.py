"""What features that are computed once save: feature freezing behind its first task.

    python -m tests.performance.features

Ten epochs of a second task of a 2x800 moment MLP on 6,000 random images of MNIST's shape, batch
500: features computed at the start, against every batch through the trunk. Timed interleaved in
one process, medians; both start from the same weights and end with the same ones, bit for bit
where there is one thread. Prints one JSON line: `ratio` is how many times as long the trunk takes.
"""

import argparse
import json

import torch

from mpnet.allocator import keep_freed_memory
from mpnet.benchmarks import TaskStream
from mpnet.features import Course
from mpnet.layers.moment import MomentLayers
from mpnet.methods.ff import FeatureFreezing
from mpnet.networks import build_network
from mpnet.training import TaskTrainer, TrainingSettings
from tests.performance._timing import interleaved_medians
from tests.performance.loop import made_up_task

SETTINGS = TrainingSettings(epochs=10)


def trained_head(stream: TaskStream, is_known: bool) -> torch.Tensor:
    """The head of the second task after all epochs."""
    torch.manual_seed(0)
    method = FeatureFreezing(build_network("mlp", MomentLayers(), (1, 28, 28), [10, 10]))
    trainer = TaskTrainer(method, stream, 1, SETTINGS)
    if not is_known:
        trainer.course = Course(stream, method.network)
    generator = torch.Generator().manual_seed(0)
    while not trainer.is_finished:
        trainer.train_epoch(generator)
    return method.network.heads[1].weight.mean.detach()


def main() -> None:
    """Time both in turn and print their ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    torch.manual_seed(0)
    stream = TaskStream((made_up_task(),) * 2)
    seconds = interleaved_medians(
        {str(known): lambda known=known: trained_head(stream, known) for known in (True, False)},
        options.repeats,
    )
    is_equal = torch.equal(trained_head(stream, True), trained_head(stream, False))
    print(json.dumps({"ratio": round(seconds["False"] / seconds["True"], 1), "equal": is_equal}))


if __name__ == "__main__":
    main()
