"""Queues of sweeps without `mpnet`, on real ledgers, asked and told as Tune does."""

from pathlib import Path
from typing import Any

from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver.active import ActiveSweep
from sweeper.driver.cluster import Share
from sweeper.driver.sweep_queue import SweepQueue
from sweeper.execution.assignment import AnyAssignment
from tests.sweeper.ledgers import outcome
from tests.sweeper.studies import Nobody, PlainSweep, plain_sweep

ONE_CPU = Share(1, 0, 4)


def swept(
    name: str, n_trials: int = 2, select: dict[str, Any] | None = None, **more: Any
) -> Sweep:
    blocks = {
        "run": {},
        "space": {"x": {"grid": list(range(n_trials))}},
        "sweep": {"sampler": "grid", **more},
        "select": {"seeds": 2, **(select or {})},
    }
    return parse_sweep(blocks, name)


def actives(folder: Path, *sweeps: Sweep, share: Share = ONE_CPU) -> list[PlainSweep]:
    for sweep in sweeps:
        (folder / sweep.name).mkdir(exist_ok=True)
    return [plain_sweep(s, folder / s.name, share, place) for place, s in enumerate(sweeps)]


class Queue(SweepQueue):
    """A queue that remembers which sweeps are over, in their order."""

    def __init__(self, *sweeps: ActiveSweep, devices: tuple[float, float] | None = (4, 0)) -> None:
        self.over: list[str] = []
        super().__init__(sweeps, devices, Nobody(), lambda s: self.over.append(s.sweep.name))

    def all_now(self) -> list[AnyAssignment]:
        """What it gives as long as nothing ends."""
        found = []
        while assignment := self.next():
            found.append(assignment)
        return found

    def finish(self, assignment: AnyAssignment, acc: float = 0.5) -> None:
        self.ended(assignment, {"outcome": outcome(acc)})


def names(queue: SweepQueue, given: list[AnyAssignment]) -> list[tuple[str, str]]:
    return [(queue.sweeps[one.sweep].sweep.name, one.stage) for one in given]
