"""What is known of a trial: the value that the ledger gives and selector and report take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

State = Literal["waiting", "running", "finished", "stopped", "failed", "interrupted"]
Matrix = list[list[float | None]]  # R[t][i]; None above the diagonal
Selectivity = dict[str, Any]  # after a task: held, free, selectivity, quantiles, a warning or None


@dataclass(frozen=True)
class TrialRecord:
    """One configuration and what came of it.

    Args:
        number: its place in the ledger.
        values: dotted path -> value, as sampled.
        state: "finished" all tasks of all seeds, "stopped" by a scheduler, "failed" for good,
            "interrupted" with its run (it has been queued again), or still "waiting", "running".
        metrics: of a finished trial, means over its seeds: acc, bwt, bwt_gem, forgetting, ...
        seeds: one per repeat.
        R: one accuracy matrix per seed.
        curves: one per seed: [step, loss, validation accuracy], step counting epochs over tasks.
        selectivity: one list per seed, what is known after each task; empty where a method does
            not protect single weights, or did not say so yet.
        seconds: of training, all attempts together.
        reason: why it failed.
    """

    number: int
    key: str
    values: Mapping[str, Any]
    state: State
    metrics: Mapping[str, float] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    R: tuple[Matrix, ...] = ()
    curves: tuple[list[list[float]], ...] = ()
    selectivity: tuple[list[Selectivity], ...] = ()
    seconds: float = 0.0
    reason: str | None = None
