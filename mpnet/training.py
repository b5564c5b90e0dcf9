"""Train one task. Knows no method by name and no benchmark."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, Gt
from torch import Tensor

from mpnet.benchmarks import Split, Task, TaskStream
from mpnet.errors import Diverged
from mpnet.layers.moment import shared_variances, validation
from mpnet.methods import Method
from mpnet.networks import Network

EVALUATION_BATCH = 1000


@dataclass(frozen=True)
class TrainingSettings:
    """How every task is trained.

    Args:
        epochs: passes over a task's training data.
        batch_size: examples per step; the last, smaller batch is used too.
        learning_rate: of Adam.
        warmup_steps: steps over which the rate rises to its value at the start of every task.
        decay: "none", or "cosine" for a rate that falls to zero by the end of every task.
        clip_norm: largest gradient norm; None to leave gradients as they are.
    """

    epochs: Annotated[int, Ge(1)] = 250
    batch_size: Annotated[int, Ge(1)] = 500
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    warmup_steps: Annotated[int, Ge(0)] = 100
    decay: Literal["none", "cosine"] = "none"
    clip_norm: Annotated[float, Gt(0)] | None = None


class EpochReport(NamedTuple):
    """What is known after an epoch: loss is the mean negative log-likelihood plus the penalty."""

    task: int
    n_tasks: int
    epoch: int
    loss: float
    validation_accuracy: float


class Group(NamedTuple):
    """The part of a batch that belongs to one task: normalised images and labels."""

    task: int
    images: Tensor
    labels: Tensor


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
    trainer = _Trainer(method, stream, t, settings)
    best_accuracy, best_state = -1.0, trainer.copied_state()
    for epoch in range(settings.epochs):
        loss = trainer.train_epoch(generator)
        if not math.isfinite(loss):
            raise Diverged(t, epoch)
        reached = trainer.validation_accuracy()
        if reached > best_accuracy:
            best_accuracy, best_state = reached, trainer.copied_state()
        on_epoch_end(EpochReport(t, len(stream), epoch, loss, reached))
    method.load_state_dict(best_state)
    method.end_task(t)


class _Trainer:
    """The optimiser of one task and its steps."""

    def __init__(
        self, method: Method, stream: TaskStream, t: int, settings: TrainingSettings
    ) -> None:
        self.method, self.stream, self.t, self.settings = method, stream, t, settings
        self.tasks = method.training_tasks(t)
        self.trained = method.trained_parameters(t)
        self.optimiser = torch.optim.Adam(self.trained, lr=settings.learning_rate, fused=True)
        self.n_examples = sum(len(stream[i].train) for i in self.tasks)
        self.n_steps = settings.epochs * math.ceil(self.n_examples / settings.batch_size)
        self.scales = method.update_scales(t, settings.learning_rate)
        self.step = 0

    def train_epoch(self, generator: torch.Generator) -> float:
        """One pass over the training data; gives the loss."""
        self.method.train()
        total = torch.zeros((), device=self.trained[0].device)
        for batch in batches(self.stream, self.tasks, self.settings.batch_size, generator):
            total += self._train_step(batch) * sum(len(group.labels) for group in batch)
        return float(total / self.n_examples + self.method.penalty(self.t).detach())

    def _train_step(self, batch: Sequence[Group]) -> Tensor:
        progress = self.step / self.n_steps
        self.method.network.layers.anneal(progress)
        self.method.begin_batch(progress)
        self.optimiser.zero_grad()
        # The data were checked when they were read; from here on the loss is watched instead.
        with shared_variances(), validation(False):
            loss = batch_nll(self.method.network, batch)
            loss.backward()
            self.method.add_penalty_gradient(self.t)
        if self.settings.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.trained, self.settings.clip_norm)
        self._update()
        self.step += 1
        return loss.detach()

    def _update(self) -> None:
        """Take the optimiser's step, or as much of it as the method grants each parameter."""
        share = rate_share(self.step, self.n_steps, self.settings)
        self.optimiser.param_groups[0]["lr"] = self.settings.learning_rate * share
        before = [parameter.detach().clone() for parameter, _ in self.scales]
        self.optimiser.step()
        with torch.no_grad():
            for (parameter, scale), start in zip(self.scales, before, strict=True):
                parameter.copy_(torch.lerp(start, parameter, scale))  # exact at 0 and at 1

    def validation_accuracy(self) -> float:
        """Over all tasks trained on."""
        splits = [self.stream[i].validation for i in self.tasks]
        reached = [
            accuracy(self.method.network, self.stream[i], split, i)
            for i, split in zip(self.tasks, splits, strict=True)
        ]
        sizes = [len(split) for split in splits]
        return sum(a * n for a, n in zip(reached, sizes, strict=True)) / sum(sizes)

    def copied_state(self) -> dict[str, Tensor]:
        """The method's state, safe from further training."""
        return {name: value.clone() for name, value in self.method.state_dict().items()}


def rate_share(step: int, n_steps: int, settings: TrainingSettings) -> float:
    """The part of the learning rate that is in force at a step of a task."""
    warmth = min(1.0, (step + 1) / max(settings.warmup_steps, 1))
    if settings.decay == "none":
        return warmth
    return warmth * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def batch_nll(network: Network, batch: Sequence[Group]) -> Tensor:
    """Mean negative log-likelihood: one pass through the trunk, each task's own head."""
    layers = network.layers
    features = network.features(torch.cat([group.images for group in batch]), batch[-1].task)
    total, n_examples, start = torch.zeros(()), sum(len(group.labels) for group in batch), 0
    for t, _, labels in batch:
        rows = layers.rows(features, start, start + len(labels))
        total = total + layers.nll(network.heads[t](rows), labels) * (len(labels) / n_examples)
        start += len(labels)
    return total


def batches(
    stream: TaskStream, tasks: Sequence[int], batch_size: int, generator: torch.Generator
) -> Iterator[list[Group]]:
    """The training data of some tasks together, each image once, in random order."""
    starts = [0]
    for i in tasks:
        starts.append(starts[-1] + len(stream[i].train))
    for chosen in torch.randperm(starts[-1], generator=generator).split(batch_size):
        batch = []
        for i, first, end in zip(tasks, starts, starts[1:], strict=False):
            mine = chosen[(chosen >= first) & (chosen < end)] - first if len(tasks) > 1 else chosen
            if len(mine):
                batch.append(_group(stream[i], stream[i].train, i, mine))
        yield batch


def _group(task: Task, split: Split, t: int, indices: Tensor) -> Group:
    indices = indices.to(split.labels.device)
    return Group(t, task.normalise(split.images[indices]), split.labels[indices])


@torch.no_grad()
def accuracy(network: Network, task: Task, split: Split, t: int) -> float:
    """Share of right answers of head `t`."""
    network.eval()
    n_right = torch.zeros((), dtype=torch.int64, device=split.labels.device)
    with validation(False):
        for indices in torch.arange(len(split)).split(EVALUATION_BATCH):
            _, images, labels = _group(task, split, t, indices)
            prediction = network.layers.predict(network(images, t))
            n_right += (prediction.probabilities.argmax(1) == labels).sum()
    return int(n_right) / len(split)
