"""What a network answers to the examples of a split, and how good the answers are."""

from typing import NamedTuple

import torch

from mpnet.benchmarks import Examples, Split, Task
from mpnet.layers.moment import shared_variances, validation
from mpnet.metrics import Evaluation, Vector, calibration_error
from mpnet.networks import Network

EVALUATION_BATCH = 1000


class Answers(NamedTuple):
    """What a network says to every example of a split, in order.

    Args:
        is_right: 1 or 0.
        confidence: probability of the chosen class.
        variance: of the chosen class's probability; NaN where the network has none.
    """

    is_right: Vector
    confidence: Vector
    variance: Vector


@torch.no_grad()
def answers(network: Network, examples: Examples, t: int) -> Answers:
    """The answers of head `t`, in evaluation mode."""
    network.eval()
    rows = []
    with validation(False), shared_variances():
        for images, labels in examples.batches(EVALUATION_BATCH):
            probabilities, variance = network.layers.predict(network(images, t))
            confidence, answer = probabilities.max(1)
            if variance is None:
                variance = torch.full_like(probabilities, torch.nan)
            of_answer = variance.gather(1, answer.unsqueeze(1)).squeeze(1)
            rows.append(torch.stack([(answer == labels).to(confidence), confidence, of_answer]))
    return Answers(*torch.cat(rows, 1).cpu().double().numpy())


def evaluate(network: Network, task: Task, split: Split, t: int) -> Evaluation:
    """Accuracy, calibration and predictive variance of head `t`."""
    is_right, confidence, variance = answers(network, task.examples(split), t)
    return Evaluation(
        float(is_right.mean()), calibration_error(confidence, is_right), float(variance.mean())
    )
