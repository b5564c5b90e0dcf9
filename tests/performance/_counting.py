"""Operations of a training step, counted: a figure that does not depend on the machine.

What a GPU has to start counts; views of tensors, which it never hears of, do not. Each operation
is put down to the innermost function of `mpnet` that asked for it, and those of autograd to the
step itself. `bare` is what a step of plain layers needs whatever the loop.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch.utils._python_dispatch import TorchDispatchMode

from mpnet.device_contract import META
from mpnet.layers import FAMILIES
from mpnet.methods import METHODS
from mpnet.networks import build_network
from mpnet.optimiser import Adam
from mpnet.training import TaskTrainer, TrainingSettings, batches
from tests.performance.rivals import SHAPES, made_up_stream

_N_GROUPS = 4
_NOT_STARTED = ("aten.empty", "aten.new_empty", "aten._unsafe_view")


class Counting(TorchDispatchMode):
    """Counts operations by the place that asked for them."""

    def __init__(self) -> None:
        super().__init__()
        self.places: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if not is_view(func):
            self.places[_place()] += 1
        return func(*args, **(kwargs or {}))


def is_view(func: Any) -> bool:
    """Whether an operation starts nothing on a device: it gives a view, or memory as it is."""
    returned = [value.alias_info for value in func._schema.returns]
    only_views = all(alias is not None and not alias.is_write for alias in returned)
    return (bool(returned) and only_views) or str(func).startswith(_NOT_STARTED)


def _place() -> str:
    frame = sys._getframe(2)
    while frame.f_back is not None:
        if "/mpnet/" in frame.f_code.co_filename and "/tests/" not in frame.f_code.co_filename:
            return frame.f_code.co_qualname
        frame = frame.f_back
    return "elsewhere"


def counted_step(name: str, network: str) -> Counter[str]:
    """A step of the second task, on a device that only knows shapes."""
    kind, stream = METHODS[name], made_up_stream(SHAPES[network]).to(META)
    with META:
        layers = FAMILIES[kind.family]()
        method = kind(build_network(network, layers, stream.input_shape, stream.n_classes))
    trainer = TaskTrainer(method.to(META).train(), stream, 1, TrainingSettings(epochs=1000))
    generator = torch.Generator().manual_seed(0)
    batch = next(batches(trainer.course.stream, [1], trainer.settings.batch_size, generator))
    trainer.train_step(batch)
    with Counting() as counting:
        trainer.train_step(batch)
    return counting.places


def bare_step(network: str) -> Counter[str]:
    """What no loop can do without: forward, cross-entropy, backward and Adam, on plain layers."""
    stream = made_up_stream(SHAPES[network]).to(META)
    with META:
        layers = FAMILIES["plain"]()
        model = build_network(network, layers, stream.input_shape, stream.n_classes)
        images, labels = torch.zeros(8, *stream.input_shape), torch.zeros(8, dtype=torch.long)
        rate = torch.zeros(())
    trunk, head = model.trunk_parameters(), model.head_parameters(1)
    optimiser = Adam([*trunk, *head])
    with Counting() as counting:
        layers.nll(model(images, 1), labels).backward()
        optimiser.step(rate)
    return counting.places


def report(network: str, names: Sequence[str]) -> dict[str, int]:
    """A table for people; gives the figures."""
    table = Table(title=f"{network}: operations of one training step of the second task")
    table.add_column("")
    table.add_column("operations", justify="right")
    table.add_column("most of them in", overflow="fold")
    figures = {}
    for name in ("bare", *names):
        places = bare_step(network) if name == "bare" else counted_step(name, network)
        figures[name] = places.total()
        largest = (f"{place} {n}" for place, n in places.most_common(_N_GROUPS))
        table.add_row(name, str(figures[name]), ", ".join(largest))
    Console().print(table)
    return figures
