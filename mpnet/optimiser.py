"""Adam, without the seconds that PyTorch's class for it takes to start.

The arithmetic is PyTorch's own, in its fused form. Its `Optimizer` imports the compiler
(`torch._dynamo`) when it is first used, which nothing here needs and every trial would wait for.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.optim.adam import adam

_BETAS = (0.9, 0.999)
_EPSILON = 1e-8


SecondMoment = Literal["parameter", "tensor"]


def gradients_of(parameters: Sequence[Tensor]) -> list[Tensor]:
    """The gradient of each parameter; zeros, from now on, where there is none yet."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


class _Moved(NamedTuple):
    """A parameter that has a gradient, and what Adam remembers of it."""

    parameter: Tensor
    gradient: Tensor
    state: dict[str, Tensor]


class Adam:
    """Adam as published, without weight decay; the rate is given at every step.

    Args:
        parameters: to be moved; one without a gradient is left alone.
        second_moment: one for every "parameter", so that all move by about the rate; or one for
            every "tensor", so that a weight moves in proportion to its gradient among those of
            its tensor.
    """

    def __init__(
        self, parameters: Sequence[Tensor], second_moment: SecondMoment = "parameter"
    ) -> None:
        self._parameters = list(parameters)
        self._is_shared = second_moment == "tensor"
        self._state = [self._at_first(p) for p in self._parameters]

    def _at_first(self, parameter: Tensor) -> dict[str, Tensor]:
        zeros = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        return {
            "mean": zeros,
            "square": parameter.new_zeros(()) if self._is_shared else zeros.clone(),
            "step": torch.zeros((), dtype=torch.float32, device=parameter.device),
        }

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, learning_rate: float | Tensor) -> None:
        """Move every parameter that has a gradient."""
        moved = [
            _Moved(p, p.grad, s)
            for p, s in zip(self._parameters, self._state, strict=True)
            if p.grad is not None
        ]
        if self._is_shared:
            _step_by_tensor(moved, learning_rate)
        else:
            _step_by_parameter(moved, learning_rate)

    def state_dict(self) -> dict[str, Any]:
        """The moments and the count of steps, in the order of the parameters."""
        return {"parameters": [dict(state) for state in self._state]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where the state was taken, on this device."""
        for own, saved in zip(self._state, state["parameters"], strict=True):
            for name, value in own.items():
                value.copy_(saved[name])


def _step_by_parameter(moved: Sequence[_Moved], learning_rate: float | Tensor) -> None:
    adam(
        [one.parameter for one in moved],
        [one.gradient for one in moved],
        [one.state["mean"] for one in moved],
        [one.state["square"] for one in moved],
        [],
        [one.state["step"] for one in moved],
        fused=True,
        amsgrad=False,
        beta1=_BETAS[0],
        beta2=_BETAS[1],
        lr=learning_rate,
        weight_decay=0.0,
        eps=_EPSILON,
        maximize=False,
    )


def _step_by_tensor(moved: Sequence[_Moved], learning_rate: float | Tensor) -> None:
    """The same formulas with the mean of the squares in the place of each square."""
    for parameter, gradient, state in moved:
        mean, square, step = state["mean"], state["square"], state["step"]
        step += 1
        mean.lerp_(gradient, 1 - _BETAS[0])
        squares = torch.linalg.vector_norm(gradient).square() / gradient.numel()
        square.lerp_(squares, 1 - _BETAS[1])
        size = (square / (1 - _BETAS[1] ** step)).sqrt_().add_(_EPSILON)
        parameter.addcmul_(mean, -learning_rate / ((1 - _BETAS[0] ** step) * size))
