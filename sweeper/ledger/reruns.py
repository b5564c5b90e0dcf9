"""The reruns of a sweep's best configurations on the test sets."""

from collections.abc import Callable, Sequence

import optuna
from optuna.distributions import IntDistribution
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from sweeper.ledger.entries import key_of_rerun, rerun_of, rerun_record
from sweeper.ledger.stage import Asked, Stage
from sweeper.results.records import Rerun, RerunRecord


class RerunStage(Stage[Rerun]):
    """Reruns on the test sets: those wanted, and those that an earlier selection has begun."""

    def __init__(self, study: optuna.Study, storage: BaseStorage, wanted: Sequence[Rerun]) -> None:
        super().__init__(study, storage, ("acc",))  # nothing is sought here
        self.wanted = tuple(wanted)

    @property
    def n_wanted(self) -> int:
        """All that were ever begun, and those to come."""
        asked = {key_of_rerun(rerun) for rerun in self.wanted}
        return len(asked | self._over | {*self._running.values(), *self._begun.values()})

    def _new(self, is_ready: Callable[[Rerun], bool]) -> Asked[Rerun] | None:
        untried = (one for one in self.wanted if not self._is_tried(key_of_rerun(one)))
        rerun = next(filter(is_ready, untried), None)
        if rerun is None:
            return None
        trial = optuna.create_trial(
            state=TrialState.RUNNING,
            params=rerun.fields,
            distributions=dict.fromkeys(rerun.fields, IntDistribution(0, 2**31)),
        )
        return self._started(trial, key_of_rerun(rerun), rerun)

    def _is_whole(self, trial: FrozenTrial) -> bool:
        return trial.params.keys() >= {"configuration", "seed"}

    def _what(self, trial: FrozenTrial) -> Rerun:
        return rerun_of(trial)

    def record(self, number: int) -> RerunRecord:
        """What is known of one rerun."""
        return rerun_record(self._trial(number))
