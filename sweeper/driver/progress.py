"""How far the trials of a queue are, and how long the rest will take."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sweeper.driver.active import ActiveSweep
from sweeper.execution.assignment import AnyAssignment, TrialAssignment
from sweeper.ledger.live import RunningTrial
from sweeper.results.records import Record
from sweeper.results.texts import in_line

_ENOUGH = 0.1  # trials done, from which a time can be told


@dataclass
class _Running:
    """A trial at work, and what it said last."""

    assignment: AnyAssignment
    n_steps: int
    told: Mapping[str, Any] = field(default_factory=dict)
    heard: float = field(default_factory=time.time)

    @property
    def share(self) -> float:
        """How much of it is done."""
        return min(1.0, self.told.get("step", 0) / max(1, self.n_steps))

    def described(self) -> RunningTrial:
        """What a person wants to know of it."""
        told, assignment = self.told, self.assignment
        values = assignment.values if isinstance(assignment, TrialAssignment) else {}
        device = str(assignment.run.get("device", ""))
        return RunningTrial(
            name=assignment.name,
            settings=in_line(values),
            place=_place_of(told, len(assignment.seeds)),
            acc=told.get("score") if told.get("step") else None,
            where=" ".join(filter(None, [told.get("hostname", ""), device])),
            heard=self.heard,
        )


def _place_of(told: Mapping[str, Any], n_seeds: int) -> str:
    """Seed, task and epoch, as far as a trial says them, counted from one."""
    if not told.get("step"):
        return ""
    seed = f"seed {told.get('seed', 0) + 1}/{n_seeds}, " if n_seeds > 1 else ""
    of_tasks, of_epochs = told.get("n_tasks", "?"), told.get("n_epochs", "?")
    task, epoch = told.get("task", 0) + 1, told.get("epoch", 0) + 1
    return f"{seed}task {task}/{of_tasks}, epoch {epoch}/{of_epochs}"


class Progress:
    """What runs of a queue, and what is left.

    Args:
        sweeps: of the queue.
        weights: seconds that a trial of each is expected to take.
    """

    def __init__(self, sweeps: Sequence[ActiveSweep], weights: Sequence[float]) -> None:
        self.sweeps, self.weights, self.start = sweeps, weights, time.monotonic()
        self._running: dict[tuple[int, str, int], _Running] = {}
        self._done = 0.0  # expected seconds of what has ended since the start

    def started(self, assignment: AnyAssignment) -> None:
        """A trial is given to a worker, which may itself be starting."""
        n_steps = self.sweeps[assignment.sweep].n_steps
        self._running[_key(assignment)] = _Running(assignment, n_steps)

    def reported(self, assignment: AnyAssignment, metrics: Mapping[str, Any]) -> None:
        """A trial says how far it is."""
        if trial := self._running.get(_key(assignment)):
            trial.told, trial.heard = metrics, time.time()

    def ended(self, assignment: AnyAssignment, record: Record) -> None:
        """A trial is over, or is to be tried again."""
        self._running.pop(_key(assignment), None)
        if record.state != "running":
            self._done += self._weight(assignment)

    def running(self, place: int) -> list[RunningTrial]:
        """The trials at work of a sweep."""
        every = list(self._running.values())
        return [one.described() for one in every if one.assignment.sweep == place]

    @property
    def seconds(self) -> float:
        """The time since the start."""
        return time.monotonic() - self.start

    @property
    def seconds_left(self) -> float | None:
        """The time left, from what was done so far; None while that is too little to tell."""
        running = list(self._running.values())
        begun = sum(self._weight(one.assignment) * one.share for one in running)
        done = self._done + begun
        if done < _ENOUGH * min(self.weights):
            return None
        left = sum(self._left_of(sweep) for sweep in self.sweeps) - begun
        return max(0.0, left) * self.seconds / done

    def _weight(self, assignment: AnyAssignment) -> float:
        """A rerun has one seed, a trial has some."""
        repeats = self.sweeps[assignment.sweep].sweep.settings.repeats
        return self.weights[assignment.sweep] * len(assignment.seeds) / repeats

    def _left_of(self, sweep: ActiveSweep) -> float:
        """Expected seconds of what has no final state yet; reruns count one seed each."""
        if sweep.is_over:
            return 0.0
        weight, repeats = self.weights[sweep.place], sweep.sweep.settings.repeats
        stage = sweep.stage
        if stage is not None and stage.name == "test":
            return stage.n_left * weight / repeats
        n_left = stage.n_left if stage is not None else sweep.sweep.n_trials
        return n_left * weight + sweep.sweep.n_reruns * weight / repeats


def _key(assignment: AnyAssignment) -> tuple[int, str, int]:
    return assignment.sweep, assignment.stage, assignment.number
