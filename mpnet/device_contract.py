"""What every method must do on a GPU, shown without one: tensors without values, and a watch.

PyTorch's `meta` device computes shapes and nothing else. What runs there asks no tensor for its
value; the modes below add that no operation mixes devices, which PyTorch itself allows for single
numbers, and count how often a program would wait for a device.
"""

import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from mpnet.config import RunConfig
from mpnet.training import TaskTrainer, batches

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
        super().__init__()  # type: ignore[no-untyped-call]
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
        """What the operation gives."""
        return func(*args, **kwargs)


class Waits(OnDevice):
    """Answers copies to the CPU for the device, and counts them: ones, a 0 in the last place.

    Single values are not answered: whoever asks for one fails here too.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_waits = 0

    def done(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """What the operation gives, or an answer in its place."""
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


def device_faults(config: RunConfig, t: int) -> list[str]:
    """A step stays on its device and asks for no value; an epoch waits once, so do evaluations."""
    stream = config.build_stream()
    method = config.build_method(stream).to(META)
    try:
        trainer = TaskTrainer(method, stream.to(META), t, config.training)
        method.train()
        generator = torch.Generator().manual_seed(0)
        size = config.training.batch_size
        with OnDevice():
            batch = next(batches(trainer.course.stream, trainer.tasks, size, generator))
            with OnDevice(is_step=True):
                trainer.train_step(batch)
        with Waits() as watch:
            trainer.train_epoch(generator)
    except (MixedDevices, NotImplementedError, RuntimeError) as error:
        return [f"task {t + 1}: {_explained(error)} ({_place(error)})"]
    at_most = 1 + len(trainer.tasks)
    if watch.n_waits > at_most:
        must = "an epoch must wait for the device once, and once for each evaluation"
        return [f"task {t + 1}: {must}, but waits {watch.n_waits} times instead of {at_most}"]
    return []


def _explained(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, MixedDevices):
        must = "must stay on the device of the network, where new tensors belong too"
        return f"a training step {must}, but {text}; make them with device= or new_zeros"
    if "meta" in text:
        must = "must not ask a tensor for its value (.item(), float(), if, .cpu())"
        return f"a training step {must}: a GPU is waited for; keep it a tensor"
    return f"on another device than the CPU it raises {type(error).__name__}: {text}"


def _place(error: Exception) -> str:
    """The innermost line that is not PyTorch's or ours to watch it."""
    torchs = str(Path(torch.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(torchs) and f.filename != __file__]
    return f"{own[-1].filename}:{own[-1].lineno}"
