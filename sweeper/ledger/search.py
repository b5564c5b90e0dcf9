"""The search of a sweep: what is tried next, every configuration once.

A point that cannot run yet waits here, unwritten, while another one is given out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from random import Random
from typing import Any

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from sweeper.config.space import Values
from sweeper.config.sweep import Sweep
from sweeper.ledger.adviser import Adviser, Draw
from sweeper.ledger.entries import SAMPLER, key_of, trial_record, values_of
from sweeper.ledger.samplers import distributions
from sweeper.ledger.stage import Asked, Stage
from sweeper.results.records import TrialRecord

_MOST_DUPLICATES = 20  # in a row, before the nearest untried point is taken instead
_MOST_OF_GP = 1  # it would answer alike, and takes a second for it
_MOST_COMPARED = 2000  # points, in the search for the nearest one
_MOST_WAITING = {True: 64, False: 4}  # planned points; a sampler would draw more knowing nothing
_KNOWN_TO_A_SAMPLER = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.RUNNING)


def as_given(points: Iterable[Values]) -> Iterable[Values]:
    """The order of the file."""
    return points


Order = Callable[[Iterable[Values]], Iterable[Values]]


@dataclass(frozen=True)
class _Point:
    """What may be tried next: a planned one, or what a sampler has drawn."""

    values: Values
    draw: Draw | None = None

    @property
    def is_planned(self) -> bool:
        """Whether no sampler was asked."""
        return self.draw is None


class SearchStage(Stage[Values]):
    """The search on validation data: points to begin with, a grid, or what a sampler draws.

    Args:
        study: that holds its trials.
        storage: the journal that it is in.
        sweep: what is asked for.
        adviser: the sampler.
        order: in which the points of a grid are tried.
    """

    def __init__(
        self,
        study: optuna.Study,
        storage: BaseStorage,
        sweep: Sweep,
        adviser: Adviser,
        order: Order = as_given,
    ) -> None:
        super().__init__(study, storage, sweep.objective)
        self.sweep, self.space = sweep, sweep.space
        self._n_trials, self._n_duplicates = sweep.n_trials, 0
        grid = order(sweep.space.points()) if sweep.sampler.name == "grid" else ()
        self._planned: Iterator[Values] = chain(map(sweep.space.typed, sweep.settings.first), grid)
        self._most_duplicates = _MOST_OF_GP if sweep.sampler.name == "gp" else _MOST_DUPLICATES
        self._adviser = adviser
        self._waiting: list[_Point] = []
        for trial in study.get_trials(deepcopy=False, states=_KNOWN_TO_A_SAMPLER):
            if self._is_whole(trial):
                adviser.take_up(trial)

    @property
    def n_wanted(self) -> int:
        """The trials that were asked for, or those there are once patience has ended."""
        return len(self._over) if self._has_waited() else self._n_trials

    def _has_waited(self) -> bool:
        patience = self.sweep.settings.patience
        if patience is None or len(self._values) <= patience:
            return False
        return max(self._values[-patience:]) <= max(self._values[:-patience])

    def _new(self, is_ready: Callable[[Values], bool]) -> Asked[Values] | None:
        """What has waited longest and can run now, or else a new point."""
        for point in self._waiting:
            if is_ready(point.values):
                self._waiting.remove(point)
                return self._given(point)
        while self._n_to_find:
            point = self._next_point()
            if is_ready(point.values):
                return self._given(point)
            self._waiting.append(point)
            if len(self._waiting) >= _MOST_WAITING[point.is_planned]:
                return None
        return None

    @property
    def _n_to_find(self) -> int:
        """How many points nobody has thought of yet."""
        known = self.n_running + len(self._begun) + len(self._waiting)
        return max(0, self.n_left - known)

    def _given(self, point: _Point) -> Asked[Values]:
        if point.draw is None:
            asked = self._written(point.values)
            self._adviser.take_up(self._trial(asked.number))
        else:
            asked = self._written(point.values, point.draw.notes)
            self._adviser.accept(point.draw, asked.number)
        return asked

    def _next_point(self) -> _Point:
        """A planned point, or one of the sampler's; a point is tried once."""
        while True:
            planned = next((p for p in self._planned if not self._is_tried(key_of(p))), None)
            if planned is not None:
                return _Point(planned)
            draw = self._adviser.draw()
            if not self._is_tried(key_of(draw.values)):
                self._n_duplicates = 0
                return _Point(draw.values, draw)
            self._adviser.reject(draw)
            self._n_duplicates += 1
            if self._n_duplicates >= self._most_duplicates:
                self._planned = iter([self._nearest_untried(draw.values)])

    def _is_tried(self, key: str) -> bool:
        is_waiting = any(key == key_of(point.values) for point in self._waiting)
        return is_waiting or super()._is_tried(key)

    def _written(self, values: Values, notes: Mapping[str, Any] | None = None) -> Asked[Values]:
        trial = optuna.create_trial(
            state=TrialState.RUNNING,
            params=values,
            distributions=distributions(self.space, values),
            system_attrs={SAMPLER: dict(notes)} if notes else None,
        )
        return self._started(trial, key_of(values), values)

    def _end(self, number: int, state: TrialState, values: Sequence[float] | None = None) -> None:
        super()._end(number, state, values)
        self._adviser.tell(self._trial(number))

    def _give_back(self, number: int) -> None:
        super()._give_back(number)
        self._adviser.forget(number)

    def _nearest_untried(self, values: Values) -> Values:
        """For a sampler that has narrowed down too far: what is next to the point it insists on.

        A space without end has tried points too: where no other path exists, a choice is a point.
        """
        is_small = self.space.size is not None and self.space.size <= _MOST_COMPARED
        points = self.space.points() if is_small else self._drawn()
        untried = (point for point in points if not self._is_tried(key_of(point)))
        near = islice(untried, _MOST_COMPARED)
        return min(near, key=lambda point: self.space.distance(point, values))

    def _drawn(self) -> Iterator[Values]:
        random = Random(self.sweep.settings.seed + len(self.study.get_trials(deepcopy=False)))
        while True:
            yield self.space.drawn(random)

    def _is_whole(self, trial: FrozenTrial) -> bool:
        return not self.space.faults(trial.params)

    def _what(self, trial: FrozenTrial) -> Values:
        return values_of(trial)

    def record(self, number: int) -> TrialRecord:
        """What is known of one trial."""
        return trial_record(self._trial(number))
