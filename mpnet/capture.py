"""A training step as one CUDA graph, which a GPU starts as a whole and not operation by operation.

Recorded once, a graph repeats the same operations on the same tensors. So whatever changes between
steps must be in tensors that stay: the batch is copied to where it was when the step was recorded,
and rates and progress are numbers on the device (`StepNumbers`). Never run on a GPU so far.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor

CudaGraphs = Literal["auto", "off"]
Outputs = tuple[Tensor, Tensor]
Step = Callable[[Tensor, Tensor], Outputs]

_WARM_UP = 3  # steps as they are, in which libraries and optimisers set up what they need

_log = logging.getLogger(__name__)


class Graph(Protocol):
    """Something that records what a function does to tensors, and does it again."""

    def warm_up(self, function: Callable[[], Outputs]) -> Outputs:
        """Run the function where it will be recorded."""

    def record(self, function: Callable[[], Outputs]) -> Outputs:
        """Record, without doing it; gives the tensors that will hold what it gives."""

    def replay(self) -> None:
        """Do it."""


class CudaGraph:
    """PyTorch's, on a stream of its own."""

    def __init__(self) -> None:
        self._graph, self._stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()

    def warm_up(self, function: Callable[[], Outputs]) -> Outputs:
        """Run the function on the stream, between what comes before and after."""
        here = torch.cuda.current_stream()
        self._stream.wait_stream(here)
        with torch.cuda.stream(self._stream):
            given = function()
        here.wait_stream(self._stream)
        return given

    def record(self, function: Callable[[], Outputs]) -> Outputs:
        """Record."""
        with torch.cuda.graph(self._graph, stream=self._stream):
            return function()

    def replay(self) -> None:
        """Do it, on the current stream."""
        self._graph.replay()


def graph_for(device: torch.device, asked: CudaGraphs) -> Graph | None:
    """What records steps on a device; None where they are to be taken one operation at a time."""
    return CudaGraph() if device.type == "cuda" and asked == "auto" else None


class StepNumbers:
    """Numbers of every step in tensors that stay, brought up to date by one operation.

    Args:
        values: the numbers of a step.
        n_steps: after the last one they stay as they are.
        device: where they are wanted.
    """

    def __init__(
        self, values: Callable[[int], Sequence[float]], n_steps: int, device: torch.device
    ) -> None:
        self._values, self._n_steps, self._device = values, n_steps, device
        self.renew()
        self._now = self._plan[0].clone()

    def renew(self) -> None:
        """Ask for the numbers of all steps again: something that they depend on has changed."""
        plan = [self._values(step) for step in range(self._n_steps)]
        self._plan = torch.tensor(plan, device=self._device)

    def at(self, step: int) -> tuple[Tensor, ...]:
        """The numbers, as they are from now on."""
        self._now.copy_(self._plan[min(step, self._n_steps - 1)])
        return self._now.unbind()


class CapturedStep:
    """A step on batches of one shape, the first that comes; others are taken as they are.

    What it gives is overwritten by the next step. A step that cannot be recorded is taken as it
    is, too, from then on; a line in the log says so.
    """

    def __init__(self, step: Step, graph: Graph) -> None:
        self._step, self._graph = step, graph
        self._n_warm = 0
        self._shape: torch.Size | None = None
        self._inputs: tuple[Tensor, Tensor] | None = None
        self._outputs: Outputs | None = None
        self.is_refused = False

    def __call__(self, images: Tensor, labels: Tensor) -> Outputs:
        """Take the step."""
        self._shape = self._shape or images.shape
        if self.is_refused or images.shape != self._shape:
            return self._step(images, labels)
        if self._n_warm < _WARM_UP:
            self._n_warm += 1
            return self._graph.warm_up(lambda: self._step(images, labels))
        if self._inputs is None or self._outputs is None:
            self._inputs = (images.clone(), labels.clone())
            self._outputs = self._recorded(*self._inputs)
            if self._outputs is None:
                return self._step(images, labels)
        for own, new in zip(self._inputs, (images, labels), strict=True):
            own.copy_(new)
        self._graph.replay()
        return self._outputs

    def _recorded(self, images: Tensor, labels: Tensor) -> Outputs | None:
        try:
            return self._graph.record(lambda: self._step(images, labels))
        except RuntimeError as error:
            self.is_refused = True
            _log.warning("a step cannot be a CUDA graph and is taken as it is: %s", error)
            return None
