"""Adam, without the seconds that PyTorch's class for it takes to start.

The arithmetic is PyTorch's own, in its fused form. Its `Optimizer` imports the compiler
(`torch._dynamo`) when it is first used, which nothing here needs and every trial would wait for.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

_BETAS = (0.9, 0.999)
_EPSILON = 1e-8


class Adam:
    """As published, without weight decay; the rate is given at every step.

    Args:
        parameters: to be moved; one without a gradient is left alone.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)
        self._state = [
            {
                "mean": torch.zeros_like(p, memory_format=torch.preserve_format),
                "square": torch.zeros_like(p, memory_format=torch.preserve_format),
                "step": torch.zeros((), dtype=torch.float32, device=p.device),
            }
            for p in self._parameters
        ]

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Move every parameter that has a gradient."""
        moved = [
            (p, p.grad, s)
            for p, s in zip(self._parameters, self._state, strict=True)
            if p.grad is not None
        ]
        adam(
            [parameter for parameter, _, _ in moved],
            [gradient for _, gradient, _ in moved],
            [state["mean"] for _, _, state in moved],
            [state["square"] for _, _, state in moved],
            [],
            [state["step"] for _, _, state in moved],
            fused=True,
            amsgrad=False,
            beta1=_BETAS[0],
            beta2=_BETAS[1],
            lr=learning_rate,
            weight_decay=0.0,
            eps=_EPSILON,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """The moments and the count of steps, in the order of the parameters."""
        return {"parameters": [dict(state) for state in self._state]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where the state was taken, on this device."""
        for own, saved in zip(self._state, state["parameters"], strict=True):
            for name, value in own.items():
                value.copy_(saved[name])
