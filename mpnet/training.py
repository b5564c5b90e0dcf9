"""Train one task. Knows no method by name and no benchmark."""

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor

from mpnet.benchmarks import TaskStream
from mpnet.capture import CapturedStep, CudaGraphs, StepNumbers, graph_for
from mpnet.errors import Dead, Diverged
from mpnet.evaluation import evaluate
from mpnet.features import Course, course
from mpnet.layers.moment import shared_variances, validation
from mpnet.machine import Precision
from mpnet.methods import Method, Progress
from mpnet.networks import Network
from mpnet.optimiser import Adam, SecondMoment
from mpnet.schedule import Decay, rate_share

Count = Annotated[int, Ge(1), Lt(2**31)]
_STATE = (
    *("epoch", "step", "best_epoch", "best_accuracy", "best_state"),
    *("n_lowered", "lowered_at", "curve", "seconds"),
)
_FAINT = 1e-6  # what rounding can leave of a gradient that is zero, relative to the loss


@dataclass(frozen=True)
class TrainingSettings:
    """How every task is trained.

    Args:
        epochs: passes over a task's training data.
        batch_size: examples per step; the last, smaller batch is used too.
        learning_rate: of Adam.
        second_moment: of Adam, one for every "parameter", or one for every "tensor": see `Adam`.
        warmup_steps: steps over which the rate rises to its value at the start of every task.
        decay: "none"; "cosine" for a rate that falls to zero by the end of every task; "plateau"
            for a third of it whenever the validation accuracy has stood still.
        plateau_epochs: without a better validation accuracy, before "plateau" lowers the rate.
        clip_norm: largest gradient norm; None to leave gradients as they are.
        patience: epochs without a better validation accuracy before a task ends; None for all.
        precision: the fewest digits that factors of matrix products and convolutions may have; all
            else is float32. A device that is not faster for it keeps more: "tf32" is for GPUs,
            "bfloat16" for CPUs.
        cuda_graph: "auto" starts a step as a whole on a GPU, "off" operation by operation; the
            weights are the same.
    """

    epochs: Count = 250
    batch_size: Count = 500
    learning_rate: Annotated[float, Gt(0)] = 1e-3
    second_moment: SecondMoment = "parameter"
    warmup_steps: Annotated[int, Ge(0), Lt(2**31)] = 100
    decay: Decay = "none"
    plateau_epochs: Count = 5
    clip_norm: Annotated[float, Gt(0)] | None = None
    patience: Count | None = None
    precision: Precision = "float32"
    cuda_graph: CudaGraphs = "auto"


class EpochReport(NamedTuple):
    """What is known after an epoch: loss is the mean negative log-likelihood plus the penalty."""

    task: int
    n_tasks: int
    epoch: int
    loss: float
    validation_accuracy: float


class Group(NamedTuple):
    """The part of a batch that belongs to one task: prepared images and labels."""

    task: int
    images: Tensor
    labels: Tensor


class TaskTrainer:
    """Trains one task, epoch by epoch; its state and the method's are all that a resume needs."""

    def __init__(
        self, method: Method, stream: TaskStream, t: int, settings: TrainingSettings
    ) -> None:
        method.network.begin_task(t)
        method.begin_task(t)
        self.method, self.stream, self.t, self.settings = method, stream, t, settings
        self.epoch = self.step = self.best_epoch = self.n_lowered = self.lowered_at = 0
        self.best_accuracy = -1.0
        self.tasks = method.training_tasks(t)
        self.trained = method.trained_parameters(t)
        self.optimiser = Adam(self.trained, settings.second_moment)
        self.n_examples = sum(len(stream[i].train) for i in self.tasks)
        self.n_batches = len(_chunks(torch.arange(self.n_examples), settings.batch_size))
        self.n_steps = settings.epochs * self.n_batches
        self.scales = method.update_scales(t, settings.learning_rate)
        device = self.trained[0].device
        is_plain = len(self.tasks) == 1 and not method.trunk_rests(t)
        graph = graph_for(device, settings.cuda_graph) if is_plain else None
        self._captured = CapturedStep(self._step_on, graph) if graph else None
        # Elsewhere than on a CPU, numbers that change from step to step are tensors that stay.
        has_numbers = device.type != "cpu" or graph is not None
        self._numbers = StepNumbers(self._values, self.n_steps, device) if has_numbers else None
        self._progress, self._rate = self._now()
        self._one = torch.ones((), device=device)
        self.best_state: dict[str, Tensor] = {}
        self.curve: list[tuple[float, float]] = []  # loss and validation accuracy of each epoch
        self.seconds = 0.0  # of training, also by processes that are gone

    @cached_property
    def course(self) -> Course:
        """Where batches come from and what they go through; known once training begins."""
        return course(self.method, self.stream, self.t)

    @property
    def is_finished(self) -> bool:
        """Whether all epochs are done, or none was better for as many as patience allows."""
        patience = self.settings.patience
        has_waited = patience is not None and self.epoch - self.best_epoch > patience
        return self.epoch >= self.settings.epochs or has_waited

    def train_epoch(self, generator: torch.Generator) -> EpochReport:
        """Train on all the data once, then measure the validation accuracy."""
        start = time.perf_counter()
        self.method.train()
        total = torch.zeros((), device=self.trained[0].device)
        pull, noise = torch.zeros_like(total), torch.zeros_like(total)
        for batch in batches(self.course.stream, self.tasks, self.settings.batch_size, generator):
            loss, pull_of_batch = self.train_step(batch)
            total += loss * sum(len(group.labels) for group in batch)
            pull += pull_of_batch
            noise += _FAINT * loss.abs().clamp_min(1)
        of_epoch = total / self.n_examples + self.method.penalty(self.t).detach()
        # Asked for together: a device is waited for once.
        mean_loss, all_pull, all_noise = torch.stack([of_epoch, pull, noise]).tolist()
        if not math.isfinite(mean_loss):
            raise Diverged(self.t, self.epoch)
        reached = self._validation_accuracy()
        if all_pull <= all_noise and self._is_guessing(reached):
            raise Dead(self.t, self.epoch)
        self._remember(reached)
        self._lower_rate()
        self.epoch += 1
        self.curve.append((mean_loss, reached))
        self.seconds += time.perf_counter() - start
        return self.report(self.epoch - 1)

    def report(self, epoch: int) -> EpochReport:
        """What was known after an epoch that is over."""
        return EpochReport(self.t, len(self.stream), epoch, *self.curve[epoch])

    def _remember(self, reached: float) -> None:
        """Keep the latest weights within a standard error of the best: they have learnt longer."""
        if reached > self.best_accuracy:
            self.best_epoch, self.best_accuracy = self.epoch, reached
        n_examples = sum(len(self.stream[i].validation) for i in self.tasks)
        if reached >= self.best_accuracy - standard_error(self.best_accuracy, n_examples):
            self.best_state = {k: v.clone() for k, v in self.method.state_dict().items()}

    def _lower_rate(self) -> None:
        """Go on at a third of the rate where validation has stood still, if that is asked for."""
        waited = self.epoch - max(self.best_epoch, self.lowered_at)
        if self.settings.decay == "plateau" and waited >= self.settings.plateau_epochs:
            self.n_lowered, self.lowered_at = self.n_lowered + 1, self.epoch
            self._renew_numbers()

    def _renew_numbers(self) -> None:
        if self._numbers is not None:
            self._numbers.renew()

    def finish(self) -> None:
        """Go back to the weights of the best epoch and let the method remember them."""
        self._captured = None  # which holds this trainer and memory of its device
        self.method.load_state_dict(self.best_state)
        self.method.eval()
        self.method.network.end_task(self.t)
        task = self.stream[self.t]
        self.method.end_task(self.t, task.examples(task.train))

    def state_dict(self) -> dict[str, Any]:
        """What `load_state_dict` needs to go on, besides the method's own state."""
        return {name: getattr(self, name) for name in _STATE} | {
            "optimiser": self.optimiser.state_dict()
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where the state was taken."""
        self.optimiser.load_state_dict(state["optimiser"])
        for name, value in state.items():
            if name != "optimiser":
                setattr(self, name, value)
        self._renew_numbers()

    def train_step(self, batch: Sequence[Group]) -> tuple[Tensor, Tensor]:
        """Take a step; gives the loss and the size of the likelihood's gradient at the head."""
        self._progress, self._rate = self._now()
        if self._captured is not None:
            taken = self._captured(batch[0].images, batch[0].labels)
        else:
            taken = self._take_step(batch)
        self.step += 1
        return taken

    def _now(self) -> tuple[Progress, float | Tensor]:
        """How much of the training is done, and the learning rate in force."""
        epoch, task, rate = (self._numbers.at if self._numbers else self._values)(self.step)
        return Progress(epoch, task), rate

    def _values(self, step: int) -> tuple[float, float, float]:
        """The parts of the epoch and of the task before a step, and its learning rate."""
        warmup, decay = self.settings.warmup_steps, self.settings.decay
        share = rate_share(step, self.n_steps, warmup, decay, self.n_lowered)
        of_epoch, of_task = step % self.n_batches / self.n_batches, step / self.n_steps
        return of_epoch, of_task, self.settings.learning_rate * share

    def _step_on(self, images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        return self._take_step([Group(self.t, images, labels)])

    def _take_step(self, batch: Sequence[Group]) -> tuple[Tensor, Tensor]:
        self.method.network.layers.anneal(self._progress.task)
        self.method.begin_batch(self._progress)
        self.optimiser.zero_grad()
        # Every task checked its images and labels when it was made; here the loss is watched.
        with shared_variances(), validation(False):
            loss = batch_nll(self.course.network, batch)
            loss.backward(self._one)
            pull = self._pull_on_head()
            self.method.after_backward(self.t)
            self.method.add_penalty_gradient(self.t)
            if self.settings.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(self.trained, self.settings.clip_norm)
            self._update()
        self.method.after_step(self.t)
        return loss.detach(), pull

    def _pull_on_head(self) -> Tensor:
        """Size of the gradient; zero only where every answer is saturated, right or wrong."""
        head = self.method.network.head_parameters(self.t)
        gradients = [p.grad for p in head if p.grad is not None]
        if not gradients:  # no example of the task is in the batch
            return torch.zeros((), device=self.trained[0].device)
        return torch.cat([gradient.flatten() for gradient in gradients]).norm(1)

    def _is_guessing(self, reached: float) -> bool:
        """Whether the accuracy is no better than that of giving the commonest label every time."""
        labels = self.stream[self.t].validation.labels
        return reached <= int(labels.cpu().bincount().max()) / len(labels)

    @torch.no_grad()
    def _update(self) -> None:
        """Take the optimiser's step, or as much of it as the method grants each parameter."""
        scaled: list[Tensor] = [parameter for parameter, _ in self.scales]
        scales = [scale for _, scale in self.scales]
        reached = torch._foreach_clone(scaled) if scaled else ()
        self.optimiser.step(self._rate)
        self.method.move_otherwise(self.t)
        if scaled:
            torch._foreach_lerp_(reached, scaled, scales)  # exact at 0 and at 1
            torch._foreach_copy_(scaled, reached)

    def _validation_accuracy(self) -> float:
        """Mean validation accuracy over the examples of all tasks trained on."""
        stream, network = self.course
        reached = [
            evaluate(network, stream[i], stream[i].validation, i).accuracy for i in self.tasks
        ]
        sizes = [len(stream[i].validation) for i in self.tasks]
        return sum(a * n for a, n in zip(reached, sizes, strict=True)) / sum(sizes)


def standard_error(accuracy: float, n_examples: int) -> float:
    """The standard error of an accuracy that was measured on this many examples."""
    return math.sqrt(accuracy * (1 - accuracy) / n_examples)


def batch_nll(network: Network, batch: Sequence[Group]) -> Tensor:
    """Mean negative log-likelihood, each task by its own head."""
    nlls = [
        network.layers.nll(network.heads[t](features), labels)
        for (t, _, labels), features in zip(batch, _features(network, batch), strict=True)
    ]
    if len(nlls) == 1:
        return nlls[0]
    sizes = [len(group.labels) for group in batch]
    first, *others = (nll * (n / sum(sizes)) for nll, n in zip(nlls, sizes, strict=True))
    return sum(others, start=first)


def _features(network: Network, batch: Sequence[Group]) -> Iterator[Any]:
    """What the trunk gives for every group: one pass for all, or one for each if it must be."""
    if network.separates_tasks or len(batch) == 1:
        yield from (network.features(group.images, group.task) for group in batch)
        return
    features = network.features(torch.cat([group.images for group in batch]), batch[-1].task)
    start = 0
    for group in batch:
        end = start + len(group.labels)
        yield network.layers.rows(features, start, end)
        start = end


def batches(
    stream: TaskStream, tasks: Sequence[int], batch_size: int, generator: torch.Generator
) -> Iterator[list[Group]]:
    """The training data of some tasks together, each image once, in random order."""
    starts = [0]
    for i in tasks:
        starts.append(starts[-1] + len(stream[i].train))
    order = torch.randperm(starts[-1], generator=generator)
    for chosen in _chunks(order, batch_size):
        batch = []
        for i, first, end in zip(tasks, starts, starts[1:], strict=False):
            mine = chosen[(chosen >= first) & (chosen < end)] - first if len(tasks) > 1 else chosen
            if len(mine):
                batch.append(Group(i, *stream[i].training_batch(mine, generator)))
        yield batch


def _chunks(order: Tensor, size: int) -> list[Tensor]:
    """Parts of this size; a last part of one, too few for a batch norm, joins its neighbour."""
    chunks = list(order.split(size))
    if len(chunks) > 1 and len(chunks[-1]) == 1:
        chunks[-2:] = [torch.cat(chunks[-2:])]
    return chunks
