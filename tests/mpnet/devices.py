"""A GPU for tests that nobody has: tensors without values, and a watch over what is done to them.

PyTorch's `meta` device computes shapes and nothing else. What runs there asks no tensor for its
value; the modes below add that no operation mixes devices, which PyTorch itself allows for single
numbers, and count how often a program would wait for a device.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mpnet.benchmarks import Preparation, Split, Task, TaskStream

META = torch.device("meta")
# PyTorch knows Adam's shapes (there are none to give) only where its rate is no tensor.
_KERNELS = torch.library.Library("aten", "IMPL", "Meta")
_KERNELS.impl("_fused_adam_.tensor_lr", lambda *args, **kwargs: None)
_COPIES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class MixedDevices(AssertionError):
    """An operation that a GPU would refuse, or wait for."""


class OnDevice(TorchDispatchMode):
    """Fails where an operation mixes devices; notes every operation and the shapes it gives.

    Args:
        is_step: whether all must stay on the device, not even a number may come from elsewhere.
    """

    def __init__(self, is_step: bool = False) -> None:
        super().__init__()
        self.is_step = is_step
        self.seen: list[tuple[str, list[tuple[int, ...]]]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        out = self.done(func, args, kwargs)
        given = {x.device.type for x in _tensors((args, kwargs))}
        known = given | {x.device.type for x in _tensors(out)}
        if (self.is_step and "cpu" in known) or (len(given) > 1 and func not in _COPIES):
            raise MixedDevices(f"{func} has tensors on {sorted(known)}")
        self.seen.append((str(func), [tuple(x.shape) for x in _tensors(out)]))
        return out

    def done(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return func(*args, **kwargs)


class Waits(OnDevice):
    """Answers copies to the CPU for the device, and counts them: ones, a 0 in the last place.

    Single values are not answered: whoever asks for one fails here too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_waits = 0

    def done(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        asked = next((x for x in _tensors(args) if x.is_meta), None)
        goes_to = torch.device(kwargs.get("device") or META).type
        if asked is None or func is not _COPIES[0] or goes_to != "cpu":
            return super().done(func, args, kwargs)
        self.n_waits += 1
        answer = torch.ones(asked.shape, dtype=kwargs.get("dtype") or asked.dtype)
        if answer.ndim:
            answer[-1] = 0
        return answer


def _tensors(nested: Any) -> Iterator[Tensor]:
    return (leaf for leaf in tree_leaves(nested) if isinstance(leaf, Tensor))


def made_up_stream(shape: tuple[int, ...], n_examples: int = 12) -> TaskStream:
    """Two tasks of black images, the first one augmented."""

    def task(name: str) -> Task:
        pool = torch.zeros(n_examples, *shape, dtype=torch.uint8)
        split = Split(pool, torch.arange(n_examples), torch.arange(n_examples) % 2)
        prepare = Preparation(torch.zeros(1, 1, 1, 1), torch.ones(1, 1, 1, 1))
        return Task(name, 2, split, split, split, prepare, is_augmented=name == "first")

    return TaskStream((task("first"), task("second")))
