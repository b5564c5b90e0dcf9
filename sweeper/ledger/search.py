"""The search of a sweep: what is tried next, every configuration once."""

from collections.abc import Iterator
from itertools import chain
from random import Random

import optuna
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from sweeper.config.space import Values
from sweeper.config.sweep import Sweep
from sweeper.ledger.entries import key_of, trial_record, values_of
from sweeper.ledger.samplers import suggest
from sweeper.ledger.stage import Asked, Stage
from sweeper.results.records import TrialRecord

_MOST_DUPLICATES = 20  # in a row, before an untried point is taken instead


class SearchStage(Stage[Values]):
    """The search on validation data: points to begin with, a grid, or what a sampler draws."""

    def __init__(self, study: optuna.Study, storage: BaseStorage, sweep: Sweep) -> None:
        super().__init__(study, storage, sweep.objective)
        self.sweep, self.space = sweep, sweep.space
        self._n_trials, self._n_duplicates = sweep.n_trials, 0
        grid = sweep.space.points() if sweep.settings.sampler == "grid" else ()
        self._planned: Iterator[Values] = chain(map(sweep.space.typed, sweep.settings.first), grid)

    @property
    def n_wanted(self) -> int:
        """The trials that were asked for, or those there are once patience has ended."""
        return len(self._over) if self._has_waited() else self._n_trials

    def _has_waited(self) -> bool:
        patience = self.sweep.settings.patience
        if patience is None or len(self._values) <= patience:
            return False
        return max(self._values[-patience:]) <= max(self._values[:-patience])

    def _new(self) -> Asked[Values] | None:
        """A planned point, or one of the sampler's; a point is tried once."""
        while True:
            planned = next((p for p in self._planned if not self._is_tried(key_of(p))), None)
            if planned is not None:
                self.study.enqueue_trial(planned)
            trial = self.study.ask()
            values = suggest(self.space, trial)
            key = key_of(values)
            if not self._is_tried(key):
                self._n_duplicates = 0
                return self._started(trial.number, key, values)
            self._give_back(trial.number)
            self._n_duplicates += 1
            if self._n_duplicates >= _MOST_DUPLICATES:
                self._planned = self._untried()

    def _untried(self) -> Iterator[Values]:
        """A space that the sampler has narrowed down too far: the next point in order, or any.

        A space without end has such points too: where no other path exists, a choice is a point.
        """
        points = self.space.points() if self.space.size is not None else self._drawn()
        yield next(point for point in points if not self._is_tried(key_of(point)))

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
