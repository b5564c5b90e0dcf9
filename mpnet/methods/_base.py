"""What a continual-learning method answers; the training loop asks, and owns every step itself."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

import torch
from annotated_types import Ge, Gt
from torch import Tensor, nn

from mpnet.benchmarks import Examples
from mpnet.networks import Network
from mpnet.registry import Registry
from mpnet.selectivity import Selectivity, Words, selectivity_of

PLAIN = "plain"  # a kind of first task: the cross-entropy alone

NonNegative = Annotated[float, Ge(0)]
Rate = Annotated[float, Gt(0)]
Scales = Sequence[tuple[nn.Parameter, Tensor]]


class Progress(NamedTuple):
    """How much of the epoch and of the task was trained before a batch, each 0 to 1.

    Tensors on a GPU, so that a step reads them there and branches on no value.
    """

    epoch: float | Tensor
    task: float | Tensor


class Protection(NamedTuple):
    """How tightly every parameter of the trunk is held from now on.

    Args:
        name: of the quantity, as the paper calls it.
        values: one flat vector.
        holds: whether the "lowest" or the "highest" values hold tightest.
        limit: the highest value that the method can give a parameter.
        words: what the method says of itself.
        var: the posterior variances that the values follow from, one flat vector.
    """

    name: str
    values: Tensor
    holds: Literal["lowest", "highest"]
    limit: float
    words: Words
    var: Tensor

    def freedom(self) -> Tensor:
        """How freely every parameter moves: 0 held, 1 free."""
        # A limit of 0 leaves rates of 0, which hold all, or KL weights of 0, which hold none.
        share = (self.values / (self.limit or torch.inf)).clamp(0, 1)
        return share if self.holds == "lowest" else 1 - share

    def selectivity(self, network: Network) -> Selectivity:
        """How selectively the trunk of `network` is held, in all and by layer."""
        layers = [(name, p.mean.numel()) for name, p in network.trunk_layers()]
        freedom, var = self.freedom().cpu().numpy(), self.var.cpu().numpy()
        return selectivity_of(freedom, var, layers, self.words)


class Method(nn.Module):
    """A network and what protects its old tasks; what must be remembered is in `state_dict`.

    A method may say that runs can share their first task. Both attributes count only for the class
    that sets them: what a subclass changes, its parent does not know.

    Attributes:
        family: of the layers that its network is built from.
        first_task: kind of its first task; methods of one kind train it alike, to the last bit.
            None if nothing is to be shared.
        later_options: its options that act only when the first task is over.
    """

    family = "moment"
    first_task: ClassVar[str | None] = None
    later_options: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def begin_task(self, t: int) -> None:
        """What changes before training task `t`? Asked again when a run is resumed within it."""

    def begin_batch(self, progress: Progress) -> None:
        """What depends on how much of the training is done?"""

    def after_backward(self, t: int) -> None:
        """What is read from the gradient of the likelihood, before the penalty's is added?"""

    def penalty(self, t: int) -> Tensor:
        """What is added to the loss?"""
        return next(self.parameters()).new_zeros(())

    def add_penalty_gradient(self, t: int) -> None:
        """Add the gradient of `penalty` to the parameters', in closed form where one is known."""
        penalty = self.penalty(t)
        if penalty.requires_grad:
            penalty.backward()

    def update_scales(self, t: int, learning_rate: float) -> Scales:
        """How much of its step may each weight take? Parameters that are not named take all of it.

        The update is scaled, not the gradient: Adam divides a scaled gradient by its own size.
        """
        return ()

    def move_otherwise(self, t: int) -> None:
        """What moves by another rule than the optimiser's? Its step is scaled like any other."""

    def after_step(self, t: int) -> None:
        """What follows from the step that was taken, once it is scaled?"""

    def end_task(self, t: int, examples: Examples) -> None:
        """What is remembered of task `t`? Asked in evaluation mode, with the best weights.

        Args:
            t: the task.
            examples: what it was trained on, as images look at evaluation; nothing else of it.
        """

    def protection(self) -> Protection | None:
        """What holds each parameter after the last task that has ended? Only for people to see."""
        return None

    def training_tasks(self, t: int) -> Sequence[int]:
        """The tasks whose data are trained on at task `t`."""
        return [t]

    def trunk_rests(self, t: int) -> bool:
        """Whether the trunk gives the same for an image throughout the training of task `t`."""
        return False

    def trained_parameters(self, t: int) -> list[nn.Parameter]:
        """What the optimiser may move: the trunk and what the tasks trained on have of their own.

        Whatever rests needs no gradient and is left out.
        """
        own = [p for i in self.training_tasks(t) for p in self.network.task_parameters(i)]
        return [p for p in (*self.network.trunk_parameters(), *own) if p.requires_grad]


METHODS: Registry[type[Method]] = Registry("method")
