"""The learning rate in the course of a task: it warms up, then stays or falls."""

import math
from typing import Literal

Decay = Literal["none", "cosine", "plateau"]

_DIVISOR = 3.0  # of the rate, whenever validation does not improve, as HAT's authors have it


def rate_share(
    step: int, n_steps: int, warmup_steps: int, decay: Decay, n_lowered: int = 0
) -> float:
    """The part of the learning rate that is in force at a step of a task.

    Args:
        step: of the task, counted from 0.
        n_steps: of the task.
        warmup_steps: over which the rate rises.
        decay: what follows.
        n_lowered: how often validation has stood still.
    """
    warmth = min(1.0, (step + 1) / max(warmup_steps, 1)) / _DIVISOR**n_lowered
    if decay != "cosine":
        return warmth
    return warmth * 0.5 * (1 + math.cos(math.pi * step / n_steps))
