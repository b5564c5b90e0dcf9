"""First tasks are removed when no sweep of a launch can need them any more."""

from collections.abc import Sequence
from contextlib import suppress

from sweeper.driver.active import ActiveSweep
from sweeper.execution import storage
from sweeper.results.texts import megabytes


class Tidying:
    """What is left of shared first tasks, while sweeps of a queue come to their ends.

    Args:
        sweeps: of the queue.
    """

    def __init__(self, sweeps: Sequence[ActiveSweep]) -> None:
        self._sweeps = tuple(sweeps)
        self._over: set[int] = set()

    def over(self, sweep: ActiveSweep) -> str:
        """Remove what only sweeps that are over have in common; gives a line that says so."""
        self._over.add(sweep.place)
        place = sweep.prepared.opened.first_tasks
        together = [other for other in self._sweeps if _may_share(sweep, other)]
        is_needed = any(other.place not in self._over for other in together)
        if place is None or is_needed or any(s.sweep.settings.keep_tasks for s in together):
            return ""
        n_bytes = 0
        with suppress(OSError):  # nothing depends on it
            for name in {name for other in together for name in _names(other)}:
                n_bytes += storage.delete_file(place, name)
            if len(self._over) == len(self._sweeps):
                n_bytes += self._rest(place, sweep)
        text = f"first tasks: {megabytes(n_bytes)} removed; sweep.keep_tasks=true keeps them"
        return text if n_bytes else ""

    def _rest(self, place: str, sweep: ActiveSweep) -> int:
        """Remove what trials without an end have left; others may use a storage of their own."""
        if sweep.sweep.settings.storage is not None:
            return 0
        n_bytes = storage.n_bytes(place)
        storage.delete_folder(place)
        return n_bytes


def _may_share(one: ActiveSweep, other: ActiveSweep) -> bool:
    """Whether a first task of one sweep may be one of the other's too: by place and benchmark."""
    is_same_place = one.prepared.opened.first_tasks == other.prepared.opened.first_tasks
    return is_same_place and bool(_benchmarks(one) & _benchmarks(other))


def _benchmarks(sweep: ActiveSweep) -> set[str]:
    return {repr(c.benchmark) for c in sweep.prepared.configurations}


def _names(sweep: ActiveSweep) -> set[str]:
    records = [*sweep.ledger.trial_records(), *sweep.ledger.rerun_records()]
    return {one["name"] for record in records for one in record.first_tasks}
