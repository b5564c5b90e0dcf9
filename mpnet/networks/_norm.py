"""What later tasks cannot change: batch norms, around that of any family, or a whole trunk."""

import copy
from collections.abc import Callable
from typing import Any, Literal

from torch import nn

from mpnet.errors import ConfigError
from mpnet.registry import did_you_mean

BatchNorm = Literal[False, True, "frozen", "per_task"]


class TaskNorm(nn.Module):
    """A batch norm whose statistics, scale and shift are learnt with single tasks, like a head.

    Args:
        norm: the family's own, of any class.
    """

    separates_tasks = False

    def __init__(self, norm: nn.Module) -> None:
        super().__init__()
        self.norms = nn.ModuleList([norm])
        self.place = 0
        self.is_resting = False

    def provide(self, n_tasks: int) -> None:
        """Make what so many tasks need; asked once, before the first."""

    def begin_task(self, t: int) -> None:
        """Prepare for the training of task `t`; asked again when a run is resumed within it."""

    def end_task(self, t: int) -> None:
        """Hand on what task `t` has learnt; asked with its best weights."""

    def turn_to(self, t: int, n_examples: int) -> None:
        """Prepare for the next batch, which is of task `t`."""

    def parameters_of(self, t: int) -> list[nn.Parameter]:
        """Scale and shift that are learnt with task `t` alone."""
        return list(self.norms[t].parameters()) if t < len(self.norms) else []

    def forward(self, x: Any) -> Any:
        """The family's value to the same."""
        norm = self.norms[self.place]
        # Here and not in train(), which is called for all tasks alike.
        norm.train(self.training and not self.is_resting)
        return norm(x)


class FrozenNorm(TaskNorm):
    """A batch norm that learns in the first task and rests afterwards, whatever the method."""

    def begin_task(self, t: int) -> None:
        """Rest from the second task on: running statistics in training too, and no gradient."""
        self.is_resting = t > 0
        self.norms.requires_grad_(not self.is_resting)


class PerTaskNorm(TaskNorm):
    """A batch norm for every task, each starting from that of the task before it.

    A single example has no statistics; in training it is normalised by the running ones. That
    happens where tasks are trained jointly and a batch has one example of some task.
    """

    separates_tasks = True

    def provide(self, n_tasks: int) -> None:
        """Make one norm per task."""
        self.norms.extend(copy.deepcopy(self.norms[0]) for _ in range(n_tasks - 1))

    def end_task(self, t: int) -> None:
        """Let all later tasks start from the norm of task `t`."""
        learnt = self.norms[t].state_dict()
        for later in self.norms[t + 1 :]:
            later.load_state_dict(learnt)

    def turn_to(self, t: int, n_examples: int) -> None:
        """Use the task's own norm."""
        self.place, self.is_resting = t, n_examples == 1


class TaskTrunk(PerTaskNorm):
    """A whole trunk for every task: what is learnt with a task is all that there is."""

    def end_task(self, t: int) -> None:
        """Hand nothing on."""

    def turn_to(self, t: int, n_examples: int) -> None:
        """Use the task's own trunk."""
        self.place = t


_KINDS: dict[BatchNorm, Callable[[nn.Module], list[nn.Module]]] = {
    False: lambda norm: [],
    True: lambda norm: [norm],
    "frozen": lambda norm: [FrozenNorm(norm)],
    "per_task": lambda norm: [PerTaskNorm(norm)],
}


def normalised(kind: BatchNorm, norm: nn.Module) -> list[nn.Module]:
    """What a network puts behind an affine layer: the norm as this kind has it, or no module."""
    if kind not in _KINDS:
        hint = did_you_mean(str(kind), [str(known) for known in _KINDS])
        raise ConfigError(f"network.batch_norm: no '{kind}'; {hint}")
    return _KINDS[kind](norm)
