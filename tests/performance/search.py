"""What a search costs until it has found the best of a grid, replayed on grids that were trained.

    python -m tests.performance.search
    python -m tests.performance.search --samplers categories tpe --at-once 4 --replays 10

Nothing is trained and no Ray runs: what a trial would report is read from `recorded_grids`. All
that decides is the service's own: the sweep, its ledger, sampler, bound and claims of first tasks.
Cost is counted in trainings of one task, those under way included, until a trial has finished
whose ACC lies within 0.1 points of the grid's best: the median of all replays, which differ in the
sampler's seed and, with `--repeats 1`, take the recorded seeds in turn (by default a trial has all
of them, and ACC is their mean). `alone` counts the first task of every trial, `shared` each first
task once. `categories` is what a sweep did before samplers knew the order of a grid: TPE on
unordered values. `lost` counts replays in which a trial as good as the grid's best was stopped.
Prints a table for each grid and one JSON line; `ratio` is the cost with shared tasks over that of
`categories` alone.
"""

import argparse
import heapq
import json
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from sweeper.config.settings import DEFAULT_TRIALS
from sweeper.config.space import Values
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver import binding
from sweeper.driver.active import ActiveSweep
from sweeper.driver.cluster import Share
from sweeper.driver.preparation import OpenedSweep, PreparedSweep
from sweeper.execution.assignment import TrialAssignment
from sweeper.ledger import Ledger
from sweeper.results.records import Matrix
from tests.performance.recorded_grids import SEEDS, RecordedGrid, acc, load

CATEGORIES = "categories"
SAMPLERS = (CATEGORIES, "tpe", "random")
WITHIN = 0.001  # of the grid's best ACC
IN_MEMORY = "/dev/shm" if Path("/dev/shm").exists() else None  # a ledger waits for its disk


class Way(NamedTuple):
    """A way to search a grid.

    Args:
        sampler: of the sweep, or `categories`.
        scheduler: of the sweep.
        at_once: trials side by side.
        repeats: seeds of a trial: all that were recorded, or one of them in turn.
    """

    sampler: str
    scheduler: str = "none"
    at_once: int = 1
    repeats: int = len(SEEDS)


class Cost(NamedTuple):
    """What a replay came to.

    Args:
        shared: trainings of a task until the best was found; infinite if it was not.
        alone: the same, if every trial had trained its first task.
        n_trials: that were started until then.
        has_lost: whether a trial as good as the best was stopped.
    """

    shared: float
    alone: float
    n_trials: int
    has_lost: bool


class ReplayedSweep(ActiveSweep):
    """A sweep at work, as in a launch, but without MLflow and without runs to resolve."""

    def _opened_tracking(self) -> None:  # type: ignore[override]
        return None

    def _resolved(self, what: Any) -> dict[str, Any]:
        return {"seed": self.sweep.run["seed"]}

    def _first_tasks(self, what: Any) -> tuple[str, ...]:
        return first_tasks(self.sweep, what)


def first_tasks(sweep: Sweep, values: Values) -> tuple[str, ...]:
    """What names the first task of a point."""
    blocks = {"run": dict(sweep.run), "sweep": {"repeats": sweep.settings.repeats}}
    return _first_tasks(json.dumps([blocks, values]))


@cache
def _first_tasks(text: str) -> tuple[str, ...]:
    blocks, values = json.loads(text)
    return binding.first_tasks_of(parse_sweep(blocks, "replay"), values)


def sweep_of(blocks: Mapping[str, Any], way: Way, seed: int, n_trials: int) -> Sweep:
    """The sweep that searches a grid."""
    space = dict(blocks["space"])
    if way.sampler == CATEGORIES:
        space = {path: {"choice": next(iter(domain.values()))} for path, domain in space.items()}
    settings = {
        "sampler": "tpe" if way.sampler == CATEGORIES else way.sampler,
        "scheduler": way.scheduler,
        "seed": seed,
        "repeats": way.repeats,
        "trials": n_trials,
    }
    how = {"sweep": settings, "select": {"top": 0}}  # no reruns; the bound is for the best alone
    return parse_sweep({**blocks, "space": space, **how}, "replay")


@dataclass(frozen=True, order=True)
class _TaskEnd:
    """The end of a task of a running trial, in the order in which they come."""

    time: int
    number: int
    n_done: int
    assignment: TrialAssignment = field(compare=False)


class Replay:
    """A search on a recorded grid: a task takes one unit of time, one that is there takes none.

    Args:
        grid: what every trial comes to.
        sweep: that searches it.
        folder: for its ledger.
        places: of the recorded seeds that a trial has.
        at_once: trials side by side.
    """

    def __init__(
        self,
        grid: RecordedGrid,
        sweep: Sweep,
        folder: Path,
        places: Sequence[int],
        at_once: int,
    ) -> None:
        self.grid, self.places, self.at_once = grid, places, at_once
        opened = OpenedSweep(sweep, Ledger(folder))
        self.active = ReplayedSweep(
            0, PreparedSweep(opened, "", [], Share(1, 0, at_once)), at_once
        )
        self.best = max(acc([Rs[p] for p in places]) for Rs in grid.matrices.values())
        self.now = self.shared = self.alone = self.n_trials = 0
        self.has_lost = False
        self._ends: list[_TaskEnd] = []
        self._there: set[str] = set()  # first tasks

    def run(self) -> Cost:
        """Search until the best is found."""
        self._fill()
        while self._ends:
            end = heapq.heappop(self._ends)
            self.now = end.time
            if self._is_found(end.assignment, end.n_done):
                return Cost(self.shared, self.alone, self.n_trials, self.has_lost)
            self._fill()
        return Cost(inf, inf, self.n_trials, self.has_lost)

    def _fill(self) -> None:
        """Start trials as long as there is room for them."""
        while len(self._ends) < self.at_once and (told := self.active.next()) is not None:
            assert isinstance(told, TrialAssignment)
            self.n_trials += 1
            self._begin(told, 0)

    def _begin(self, told: TrialAssignment, n_done: int) -> None:
        """Train the next task of a trial, unless it is a first one that is there."""
        seed, t = divmod(n_done, self.grid.n_tasks)
        name = first_tasks(self.active.sweep, told.values)[seed] if t == 0 else None
        takes = 0 if name in self._there else 1
        self.shared += takes
        self.alone += 1
        heapq.heappush(self._ends, _TaskEnd(self.now + takes, told.number, n_done + 1, told))

    def _is_found(self, told: TrialAssignment, n_done: int) -> bool:
        """Tell the sweep of the end of a task; whether the best of the grid is found by it."""
        whole = self.grid.matrices_of(told.values, self.places)
        n_tasks = self.grid.n_tasks
        shown = [R[: n_done - seed * n_tasks] for seed, R in enumerate(whole)]
        matrices = [padded(R) for seed, R in enumerate(shown) if n_done > seed * n_tasks]
        reported = {"R": json.dumps(matrices), "step": n_done}
        self._there.update(first_tasks(self.active.sweep, told.values)[: len(matrices)])
        self.active.reported(told, reported)
        if n_done == len(whole) * n_tasks:
            outcome = {"metrics": {"acc": acc(whole)}, "R": matrices, "seeds": told.seeds}
            self.active.ended(told, {"outcome": outcome})
            return acc(whole) >= self.best - WITHIN
        if self.active.is_hopeless(told, reported):
            self.active.ended(told, reported)
            self.has_lost |= acc(whole) >= self.best
        else:
            self._begin(told, n_done)
        return False


def padded(R: Matrix) -> Matrix:
    """Rows of one length, as runs report them."""
    return [[*row, *[None] * (len(R) - len(row))] for row in R]


def cost(grid: RecordedGrid, way: Way, seed: int, n_trials: int) -> Cost:
    """What one replay costs."""
    places = range(len(SEEDS)) if way.repeats > 1 else [seed % len(SEEDS)]
    sweep = sweep_of(grid.blocks, way, seed, n_trials)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        return Replay(grid, sweep, Path(folder), places, way.at_once).run()


@cache
def _grids() -> dict[str, RecordedGrid]:
    return load()


def _cost(name: str, way: Way, seed: int, n_trials: int) -> Cost:
    """The same, for a worker process."""
    return cost(_grids()[name], way, seed, n_trials)


def ways(samplers: Iterable[str], at_once: Iterable[int], repeats: int) -> list[Way]:
    """All of them; what others are compared with has no bound."""
    every = product(samplers, ("none", "bound"), at_once, [repeats])
    return [Way(*way) for way in every if way[:2] != (CATEGORIES, "bound")]


def default_of(grid: RecordedGrid) -> str:
    """The sampler that `auto` takes for a grid, at the usual number of trials."""
    settings = {"sampler": "auto", "trials": DEFAULT_TRIALS}
    return parse_sweep({**grid.blocks, "sweep": settings}, "replay").sampler.name


def summary(way: Way, costs: Sequence[Cost], baseline: float | None) -> dict[str, Any]:
    """The medians of all replays of one way."""
    shared, alone, n_trials = (
        statistics.median(cost[column] for cost in costs) for column in range(3)
    )
    return {
        **way._asdict(),
        "trials": n_trials,
        "alone": alone,
        "shared": shared,
        "ratio": round(shared / (baseline or alone), 2),
        "lost": sum(cost.has_lost for cost in costs),
    }


def table_of(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """The ways to search one grid."""
    table = Table(
        title=f"{name}: trainings of a task until the best is found", title_justify="left"
    )
    for column in rows[0]:
        table.add_column(column.replace("_", " "), justify="right")
    for row in rows:
        table.add_row(*map(str, row.values()))
    return table


def replayed(
    name: str, options: argparse.Namespace, pool: ProcessPoolExecutor
) -> list[dict[str, Any]]:
    """All ways to search one grid, each compared with categories at as many trials at once."""
    rows: list[dict[str, Any]] = []
    for way in ways(options.samplers, options.at_once, options.repeats):
        seeds = range(options.first_seed, options.first_seed + options.replays)
        futures = [pool.submit(_cost, name, way, seed, options.trials) for seed in seeds]
        baseline = next((r["alone"] for r in rows if r["at_once"] == way.at_once), None)
        rows.append(summary(way, [future.result() for future in futures], baseline))
    return rows


def main() -> None:
    """Replay, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--grids", nargs="*", default=list(_grids()))
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS)
    parser.add_argument("--at-once", type=int, nargs="*", default=(1, 4))
    parser.add_argument("--repeats", type=int, choices=(1, len(SEEDS)), default=len(SEEDS))
    parser.add_argument("--replays", type=int, default=50)
    parser.add_argument("--first-seed", type=int, default=100, help="below it ways are tuned")
    parser.add_argument(
        "--trials", type=int, default=200, help="after which the best is not found"
    )
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    found = {}
    with ProcessPoolExecutor(options.processes) as pool:
        for name in options.grids:
            found[name] = replayed(name, options, pool)
            Console().print(table_of(name, found[name]))
    chosen = {name: default_of(_grids()[name]) for name in options.grids}
    print(json.dumps({"replays": options.replays, "auto": chosen, **found}))


if __name__ == "__main__":
    main()
