"""What every network has: a shared trunk and one head per task."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from mpnet.errors import ConfigError, InputError
from mpnet.layers import LayerFamily, Posterior, name_layers
from mpnet.networks._norm import TaskNorm, TaskTrunk
from mpnet.registry import Registry


class Trunk(NamedTuple):
    """The shared part of a network and the number of features it gives."""

    body: nn.Module
    n_features: int


NETWORKS: Registry[Callable[..., Trunk]] = Registry("network")


class Network(nn.Module):
    """A shared trunk and one linear head per task; all heads exist from the start."""

    def __init__(
        self,
        layers: LayerFamily,
        trunk: Trunk,
        input_shape: tuple[int, ...],
        n_classes: Sequence[int],
    ) -> None:
        if not n_classes or min(n_classes) < 1:
            raise ConfigError(
                "Network: there must be a task, and each must have at least one class, "
                f"but got {list(n_classes)}."
            )
        super().__init__()
        self.layers = layers
        self.input_shape = input_shape
        self.trunk = trunk.body
        self.heads = nn.ModuleList(layers.head(trunk.n_features, n) for n in n_classes)
        self._norms = [m for m in self.trunk.modules() if isinstance(m, TaskNorm)]
        for norm in self._norms:
            norm.provide(len(n_classes))
        name_layers(self)

    def forward(self, x: Tensor, t: int) -> Any:
        """(batch, *input_shape) to the family's value for the classes of task `t`."""
        features = self.features(x, t)
        return self.heads[t](features)

    def features(self, x: Tensor, t: int) -> Any:
        """(batch, *input_shape) to the family's value that a head takes."""
        if tuple(x.shape[1:]) != self.input_shape:
            expected = ", ".join(map(str, self.input_shape))
            raise InputError(
                f"Network: the input must have shape (batch, {expected}), "
                f"but got {tuple(x.shape)}."
            )
        if not 0 <= t < len(self.heads):
            raise InputError(
                f"Network: the task must lie in 0 ... {len(self.heads) - 1}, but got {t}."
            )
        for norm in self._norms:
            norm.turn_to(t, len(x))
        return self.trunk(self.layers.input(x, t))

    def separate(self) -> TaskTrunk:
        """Give every task a trunk of its own, each as the only one is now; gives all of them."""
        trunks = self.trunk = TaskTrunk(self.trunk)
        self._norms = [trunks]
        trunks.provide(len(self.heads))
        name_layers(self)
        return trunks

    def begin_task(self, t: int) -> None:
        """Prepare for the training of task `t`; asked again when a run is resumed within it."""
        for norm in self._norms:
            norm.begin_task(t)

    def end_task(self, t: int) -> None:
        """Hand on to later tasks what task `t` has learnt for itself, with its best weights."""
        for norm in self._norms:
            norm.end_task(t)

    @property
    def separates_tasks(self) -> bool:
        """Whether a batch of several tasks must go through the trunk task by task."""
        return any(norm.separates_tasks for norm in self._norms)

    def shared_modules(self) -> Iterator[nn.Module]:
        """The modules of the trunk in order, without what is learnt with single tasks."""
        own = {module for norm in self._norms for module in norm.modules()}
        return (module for module in self.trunk.modules() if module not in own)

    def trunk_parameters(self) -> Iterator[nn.Parameter]:
        """What all tasks share."""
        return (p for module in self.shared_modules() for p in module.parameters(recurse=False))

    def trunk_layers(self) -> list[tuple[str, Posterior]]:
        """Every posterior of the trunk in the order of flat vectors, behind its layer's name.

        The names are for people: layer 1, layer 2, ...
        """
        trunk = [p for p in self.layers.posteriors(self) if p.path.startswith("trunk.")]
        paths = [p.path.rpartition(".")[0] for p in trunk]
        places = {path: place for place, path in enumerate(dict.fromkeys(paths), start=1)}
        return [(f"layer {places[path]}", p) for path, p in zip(paths, trunk, strict=True)]

    def head_parameters(self, t: int) -> Iterator[nn.Parameter]:
        """The head of task `t`."""
        return self.heads[t].parameters()

    def task_parameters(self, t: int) -> Iterator[nn.Parameter]:
        """What is learnt with task `t` alone: its head, and batch norms of its own."""
        yield from self.head_parameters(t)
        for norm in self._norms:
            yield from norm.parameters_of(t)
