"""Train one task. Knows no method by name and no benchmark."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, Gt
from torch import Tensor

from mpnet.benchmarks import Split, Task, TaskStream
from mpnet.errors import Diverged
from mpnet.layers.moment import shared_variances, validation
from mpnet.methods import Method
from mpnet.networks import Network


@dataclass(frozen=True)
class TrainingSettings:
    """How every task is trained.

    Args:
        epochs: passes over a task's training data.
        batch_size: examples per step; the last, smaller batch is used too.
        learning_rate: of Adam.
        warmup_steps: steps over which the learning rate rises to its value at the start of every
            task.
        clip_norm: largest gradient norm; None to leave gradients as they are.
    """

    epochs: Annotated[int, Ge(1)] = 250
    batch_size: Annotated[int, Ge(1)] = 500
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    warmup_steps: Annotated[int, Ge(0)] = 100
    clip_norm: Annotated[float, Gt(0)] | None = None


class EpochReport(NamedTuple):
    """What is known after an epoch: loss is the mean negative log-likelihood plus the penalty."""

    task: int
    n_tasks: int
    epoch: int
    loss: float
    validation_accuracy: float


def train_task(
    method: Method,
    stream: TaskStream,
    t: int,
    settings: TrainingSettings,
    generator: torch.Generator,
    on_epoch_end: Callable[[EpochReport], None],
) -> None:
    """Train on task `t` and keep the weights of the epoch with the best validation accuracy."""
    method.begin_task(t)
    trained = method.trained_parameters(t)
    optimiser = torch.optim.Adam(trained, lr=settings.learning_rate, fused=True)
    n_steps = settings.epochs * -(-len(stream[t].train) // settings.batch_size)
    best_accuracy, best_state, step = -1.0, None, 0
    for epoch in range(settings.epochs):
        method.train()
        total = 0.0
        for x, y in batches(stream[t], stream[t].train, settings.batch_size, generator):
            warmth = min(1.0, (step + 1) / max(settings.warmup_steps, 1))
            optimiser.param_groups[0]["lr"] = settings.learning_rate * warmth
            total += _step(method, optimiser, x, y, t, step / n_steps, settings) * len(y)
            step += 1
        loss = total / len(stream[t].train) + float(method.penalty(t).detach())
        if not torch.isfinite(torch.tensor(loss)):
            raise Diverged(t, epoch)
        now = accuracy(method.network, stream[t], stream[t].validation, t)
        if now > best_accuracy:
            best_accuracy, best_state = now, _copy_state(method)
        on_epoch_end(EpochReport(t, len(stream), epoch, loss, now))
    if best_state is not None:
        method.load_state_dict(best_state)
    method.end_task(t)


def _step(
    method: Method,
    optimiser: torch.optim.Optimizer,
    x: Tensor,
    y: Tensor,
    t: int,
    progress: float,
    settings: TrainingSettings,
) -> float:
    layers = method.network.layers
    layers.anneal(progress)
    method.begin_batch(progress)
    optimiser.zero_grad()
    # The data were checked when they were read; from here on the loss is watched instead.
    with shared_variances(), validation(False):
        nll = layers.nll(method.network(x, t), y)
        nll.backward()
        method.add_penalty_gradient(t)
    if settings.clip_norm is not None:
        parameters = optimiser.param_groups[0]["params"]
        torch.nn.utils.clip_grad_norm_(parameters, settings.clip_norm)
    optimiser.step()
    return float(nll.detach())


def batches(
    task: Task, split: Split, batch_size: int, generator: torch.Generator | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Normalised images and labels, in random order if a generator is given."""
    indices = torch.arange(len(split))
    if generator is not None:
        indices = torch.randperm(len(split), generator=generator)
    for chosen in indices.to(split.labels.device).split(batch_size):
        yield task.normalise(split.images[chosen]), split.labels[chosen]


@torch.no_grad()
def accuracy(network: Network, task: Task, split: Split, t: int, batch_size: int = 1000) -> float:
    """Share of right answers of head `t`."""
    network.eval()
    n_right = torch.zeros((), dtype=torch.int64, device=split.labels.device)
    with validation(False):
        for x, y in batches(task, split, batch_size):
            prediction = network.layers.predict(network(x, t))
            n_right += (prediction.probabilities.argmax(1) == y).sum()
    return int(n_right) / len(split)


def _copy_state(method: Method) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in method.state_dict().items()}
