"""First tasks that trials share: who trains which, how a grid is ordered, what sharing saves."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from random import Random

from sweeper.config.space import Values
from sweeper.config.sweep import Sweep
from sweeper.driver import binding
from sweeper.execution.assignment import AnyAssignment
from sweeper.results.texts import counted

_MOST_LOOKED_AT = 1000  # points at a time; each is bound to `mpnet`


class Claims:
    """The first tasks in training, of all sweeps of a queue.

    Whoever needs one of them waits: it is there earlier than if it were trained once more.
    """

    def __init__(self) -> None:
        self._claimed: dict[tuple[int, str, int], list[str]] = {}
        self._there: set[str] = set()  # as far as this driver has been told

    def is_free(self, first_tasks: Iterable[str]) -> bool:
        """Whether nobody trains any of them."""
        return not any(one in claimed for claimed in self._claimed.values() for one in first_tasks)

    def claim(self, assignment: AnyAssignment, first_tasks: Iterable[str]) -> None:
        """Say who trains them, in the order of its seeds, or finds them trained."""
        if claimed := [one for one in first_tasks if one not in self._there]:
            self._claimed[_claimant(assignment)] = claimed

    def has_any(self, assignment: AnyAssignment) -> bool:
        """Whether somebody may wait for an assignment."""
        return _claimant(assignment) in self._claimed

    def trained(self, assignment: AnyAssignment, n_seeds: int) -> None:
        """Say that the first tasks of so many of its seeds are there."""
        claimed = self._claimed.get(_claimant(assignment), [])
        n_trained = max(0, len(claimed) - (len(assignment.seeds) - n_seeds))
        self._there.update(claimed[:n_trained])
        del claimed[:n_trained]

    def release(self, assignment: AnyAssignment) -> None:
        """Say that nobody works on an assignment any more."""
        self._claimed.pop(_claimant(assignment), None)


def _claimant(assignment: AnyAssignment) -> tuple[int, str, int]:
    return assignment.sweep, assignment.stage, assignment.number


def spread(
    points: Iterable[Values], first_task_of: Callable[[Values], Hashable]
) -> Iterator[Values]:
    """The points so that different first tasks come first, a part of a large grid at a time."""
    rest = iter(points)
    while part := list(islice(rest, _MOST_LOOKED_AT)):
        met: Counter[Hashable] = Counter()
        rounds = []
        for point in part:
            first_task = first_task_of(point)
            rounds.append((met[first_task], point))
            met[first_task] += 1
        yield from (point for _, point in sorted(rounds, key=itemgetter(0)))


@dataclass(frozen=True)
class Saving:
    """What sharing saves in a search, in trainings of a task.

    Args:
        n_trials: that are wanted.
        n_first_tasks: different ones among them.
        n_tasks: of a run.
        is_exact: whether all points are known; a sampler may draw others.
    """

    n_trials: int
    n_first_tasks: int
    n_tasks: int
    is_exact: bool

    @property
    def factor(self) -> float:
        """How many times as many trainings it would be without."""
        with_sharing = self.n_trials * (self.n_tasks - 1) + self.n_first_tasks
        return self.n_trials * self.n_tasks / with_sharing

    @property
    def text(self) -> str:
        """The same for a person."""
        trials = counted(self.n_trials, "trial")
        first = counted(self.n_first_tasks, "first task")
        if self.n_first_tasks == self.n_trials:
            return f"nothing: {trials}, {first}"
        return f"{trials}, {'' if self.is_exact else 'about '}{first}: {self.factor:.1f}x less"


def expected_saving(sweep: Sweep, n_tasks: int) -> Saving | None:
    """What sharing will save, by the points of a grid, or else by points drawn at random.

    None where nothing is shared.
    """
    points = _points_to_come(sweep)
    found = {binding.first_tasks_of(sweep, point) for point in points}
    if not sweep.settings.share_tasks or () in found:
        return None
    is_whole = sweep.sampler.name == "grid" and len(points) == sweep.n_trials
    is_exact = is_whole or len(found) == 1
    return Saving(sweep.n_trials, len(found), n_tasks, is_exact)


def _points_to_come(sweep: Sweep) -> list[Values]:
    n = min(sweep.n_trials, _MOST_LOOKED_AT)
    if sweep.sampler.name == "grid":
        ordered = spread(sweep.space.points(), lambda point: binding.first_tasks_of(sweep, point))
        return list(islice(ordered, n))
    random = Random(sweep.settings.seed)
    return [sweep.space.drawn(random) for _ in range(n)]
