"""The scheduler `bound`: what the trials of a search have shown, and who cannot win any more."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from math import ceil
from typing import Any

from sweeper.config.groups import Group, group_of
from sweeper.config.sweep import Sweep
from sweeper.execution.assignment import TrialAssignment
from sweeper.results import bound
from sweeper.results.records import Matrix, TrialRecord

# The best of a few is soon outdone: with two, the bound lost the best of a grid in about half of
# some early replays (docs/decisions.md). Every seed of a trial shows a run.
_FEWEST_RUNS = 10


def matrices_of(reported: Mapping[str, Any]) -> list[Matrix]:
    """The matrices in what a trial reports, one per seed that has ended a task."""
    return list(json.loads(reported.get("R", "[]")))


class Bounding:
    """What is known of a search that stops hopeless trials.

    Args:
        sweep: with its slack, and what it will rerun.
        trials: that are known at its start.
    """

    def __init__(self, sweep: Sweep, trials: Sequence[TrialRecord]) -> None:
        self._sweep = sweep
        self._shown: dict[int, list[bound.Shown]] = {}  # by trial, as far as it came
        self._finished: dict[int, tuple[Group, float]] = {}  # ACC by trial
        self._n_tasks = 0  # of a whole run, known once there is one
        for trial in trials:
            self.learn(trial)

    def learn(self, trial: TrialRecord) -> None:
        """Take in how a trial has ended; what it has shown counts even if it was stopped."""
        if trial.R or trial.shown:
            self._shown[trial.number] = [bound.shown_by(R) for R in trial.R or trial.shown]
        if trial.state == "finished" and trial.R:
            group = group_of(trial.values, self._sweep.select.each)
            self._finished[trial.number] = group, trial.metrics["acc"]
            self._n_tasks = len(trial.R[0])

    def is_hopeless(self, trial: TrialAssignment, matrices: Sequence[Matrix]) -> bool:
        """Whether a running trial cannot come among those of its group that will be rerun."""
        self._shown[trial.number] = [bound.shown_by(R) for R in matrices]
        needed = self._needed(group_of(trial.values, self._sweep.select.each))
        if needed is None:
            return False
        return bound.is_hopeless(matrices, len(trial.seeds), self._prospects(), needed)

    def highest_acc(self, trial: TrialAssignment, matrices: Sequence[Matrix]) -> float | None:
        """What a trial could have reached at most; None before any has gone through all tasks."""
        if not self._n_tasks:
            return None
        return bound.highest_acc(matrices, len(trial.seeds), self._prospects())

    def _needed(self, group: Group) -> float | None:
        select, n_finished = self._sweep.select, len(self._finished)
        fewest = ceil(_FEWEST_RUNS / self._sweep.settings.repeats)
        if n_finished < min(max(select.at_least, fewest), self._sweep.n_trials):
            return None
        rivals = [acc for of_group, acc in self._finished.values() if of_group == group]
        return bound.needed_acc(rivals, select.top)

    def _prospects(self) -> bound.Prospects:
        runs = chain.from_iterable(self._shown.values())
        return bound.prospects(runs, self._n_tasks, self._sweep.settings.slack)
