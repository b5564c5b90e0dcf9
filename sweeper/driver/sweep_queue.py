"""One sweep or ninety in one line: whenever a device is free, they are asked in order.

Only towards the end trials come before reruns, which fill the gaps, the longest first: the last
search would otherwise begin late, and most devices be idle while its reruns wait for it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from sweeper.config.settings import SweepSettings
from sweeper.driver.active import ActiveSweep
from sweeper.errors import SweepError
from sweeper.execution.assignment import AnyAssignment
from sweeper.results.records import Record

_NEAR_THE_END = 6  # trials to start for each device; simulated in tests.performance.queue


class Listener(Protocol):
    """Who wants to know how a queue goes on."""

    def started(self, assignment: AnyAssignment) -> None:
        """A trial is given to a worker, perhaps not for the first time."""

    def reported(self, assignment: AnyAssignment, metrics: Mapping[str, Any]) -> None:
        """A trial says how far it is."""

    def ended(self, assignment: AnyAssignment, record: Record) -> None:
        """A trial is over, or is to be tried again."""


class SweepQueue:
    """The sweeps of a launch, and what runs of them.

    Args:
        sweeps: in this order.
        devices: CPUs and GPUs in all; None where nodes may join, and Ray keeps the books.
        listener: is told what happens.
        on_over: is told of each sweep that has nothing left to do.
        on_silence: is told of each sweep in which something has not moved for long, and what.
    """

    def __init__(
        self,
        sweeps: Sequence[ActiveSweep],
        devices: tuple[float, float] | None,
        listener: Listener,
        on_over: Callable[[ActiveSweep], None],
        on_silence: Callable[[ActiveSweep, str], None] = lambda sweep, text: None,
    ) -> None:
        self.sweeps, self.devices = tuple(sweeps), devices
        self.listener, self.on_over, self.on_silence = listener, on_over, on_silence
        self.halted = ""  # why nothing more is to start, if so
        self.is_cut_off = False  # from Ray, so that nothing of it is to be waited for
        self.is_paused = False  # somebody wants that nothing more starts for a while
        self.refused: dict[int, SweepError] = {}  # sweeps that could not even begin, by place

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to run any more."""
        if any(sweep.n_running for sweep in self.sweeps):
            return False
        return bool(self.halted) or all(self._has_ended(sweep) for sweep in self.sweeps)

    def _has_ended(self, sweep: ActiveSweep) -> bool:
        return sweep.is_over or sweep.place in self.refused

    def next(self) -> AnyAssignment | None:
        """What to run next; None if there is nothing now, or nothing at all any more."""
        for sweep in () if self.halted or self.is_paused else self._in_order():
            if self._has_ended(sweep) or not self._has_room(sweep):
                continue
            try:
                assignment = sweep.next()
            except SweepError as error:
                self.refused[sweep.place] = error
                continue
            if assignment is not None:
                self.listener.started(assignment)
                return assignment
            if sweep.is_over:
                self.on_over(sweep)
        return None

    def _in_order(self) -> Sequence[ActiveSweep]:
        """Who is asked first: the earliest, or near the end who has a trial to start."""
        n_devices = max(sweep.prepared.share.at_once for sweep in self.sweeps)
        if sum(sweep.n_unstarted for sweep in self.sweeps) > _NEAR_THE_END * n_devices:
            return self.sweeps
        return sorted(self.sweeps, key=lambda s: (not s.n_unstarted, -s.rerun_seconds))

    def _has_room(self, sweep: ActiveSweep) -> bool:
        """Whether another trial would find a device; asked too early, a sampler knows less."""
        if self.devices is None:
            return True
        shares = [(other.prepared.share, other.n_running) for other in self.sweeps]
        own, (cpus, gpus) = sweep.prepared.share, self.devices
        used_cpu = own.cpu + sum(share.cpu * n for share, n in shares)
        used_gpu = own.gpu + sum(share.gpu * n for share, n in shares)
        return used_cpu <= cpus + 1e-6 and used_gpu <= gpus + 1e-6

    def settings_of(self, assignment: AnyAssignment) -> SweepSettings:
        """How its sweep searches."""
        return self.sweeps[assignment.sweep].sweep.settings

    def silent(self, assignment: AnyAssignment, text: str) -> None:
        """Nobody has heard of it for long: tell a person."""
        sweep = self.sweeps[assignment.sweep]
        sweep.say(f"{sweep.sweep.name}: {assignment.name}: {text}.")
        self.on_silence(sweep, f"{assignment.name}: {text}")

    def reported(self, assignment: AnyAssignment, metrics: Mapping[str, Any]) -> None:
        """A worker says how far it is."""
        self.sweeps[assignment.sweep].reported(assignment, metrics)
        self.listener.reported(assignment, metrics)

    def ended(self, assignment: AnyAssignment, outcome: Mapping[str, Any]) -> None:
        """A worker has ended; a storage that is full, or no Ray, stops the whole queue."""
        if "halt" in outcome:
            self.halted = outcome["halt"]
        sweep = self.sweeps[assignment.sweep]
        self.listener.ended(assignment, sweep.ended(assignment, outcome))
        if not self.halted:
            sweep.advance_if_done()  # so that the length of its reruns is known
        if sweep.is_over:
            self.on_over(sweep)

    def is_hopeless(self, assignment: AnyAssignment, reported: Mapping[str, Any]) -> bool:
        """Whether it cannot come among the best of its sweep, so that it should stop."""
        return self.sweeps[assignment.sweep].is_hopeless(assignment, reported)

    def is_unwanted(self, assignment: AnyAssignment) -> bool:
        """Whether somebody has asked for its end."""
        return self.sweeps[assignment.sweep].is_unwanted(assignment)

    def is_late(self, assignment: AnyAssignment) -> bool:
        """Whether the hours of its sweep are over, so that it should stop."""
        return assignment.stage == "search" and self.sweeps[assignment.sweep].is_out_of_time
