"""What a sampler is asked and told: a study of its own, in memory, made of what the journal says.

The journal holds the values that ran; the sampler sees ordered points as numbers. What it draws
and nobody runs stays here, so a journal holds only what happened.
"""

from dataclasses import dataclass
from typing import Any, Literal

import optuna
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from sweeper.config.space import SearchSpace, Values
from sweeper.ledger.entries import AT_MOST, SAMPLER, values_of
from sweeper.ledger.samplers import distributions_of_places, places, suggest


@dataclass(frozen=True)
class Draw:
    """A point that a sampler proposes.

    Args:
        number: in the study of the adviser.
        values: dotted path -> value, as the file has it.
        notes: what the sampler keeps with the point; CMA-ES and NSGA-II go on from them.
    """

    number: int
    values: Values
    notes: dict[str, Any]


class Adviser:
    """A sampler with all that it knows.

    Args:
        sampler: of Optuna.
        space: from which it draws.
        n_objectives: that it is told of each finished trial, all of them to be maximised.
    """

    def __init__(self, sampler: BaseSampler, space: SearchSpace, n_objectives: int) -> None:
        upwards: list[Literal["maximize", "minimize"]] = ["maximize"] * n_objectives
        self._study = optuna.create_study(directions=upwards, sampler=sampler)
        self._space = space
        self._numbers: dict[int, int] = {}  # in the journal -> here

    def draw(self) -> Draw:
        """What the sampler would try next; to be accepted or rejected."""
        trial = self._study.ask()
        values = suggest(self._space, trial)
        notes = self._study.get_trials(deepcopy=False)[trial.number].system_attrs
        return Draw(trial.number, values, dict(notes))

    def accept(self, draw: Draw, number: int) -> None:
        """Say that a point runs, under its number in the journal."""
        self._numbers[number] = draw.number

    def reject(self, draw: Draw) -> None:
        """Say that nobody will run a point."""
        self._study.tell(draw.number, state=TrialState.FAIL)

    def take_up(self, trial: FrozenTrial) -> None:
        """Tell of a trial of the journal that was not drawn here, whole and in any state."""
        state, result = _told(trial)
        values = values_of(trial)
        self._study.add_trial(
            optuna.create_trial(
                state=state,
                values=result,
                params=places(self._space, values),
                distributions=distributions_of_places(self._space, values),
                system_attrs=trial.system_attrs.get(SAMPLER, {}),
            )
        )
        self._numbers[trial.number] = len(self._study.get_trials(deepcopy=False)) - 1

    def tell(self, trial: FrozenTrial) -> None:
        """Tell what became of a trial that was running."""
        state, result = _told(trial)
        self._study.tell(self._numbers.pop(trial.number), result, state)

    def forget(self, number: int) -> None:
        """Say that a trial of the journal does not count, if it was ever told of."""
        if number in self._numbers:
            self._study.tell(self._numbers.pop(number), state=TrialState.FAIL)


def _told(trial: FrozenTrial) -> tuple[TrialState, list[float] | None]:
    """A stopped trial is the best that it could have become, where that is known.

    Without a value it would be nothing to a Gaussian process and to CMA-ES, which would come back.
    """
    if trial.state is TrialState.PRUNED and AT_MOST in trial.user_attrs:
        return TrialState.COMPLETE, [trial.user_attrs[AT_MOST]]
    return trial.state, trial.values if trial.state is TrialState.COMPLETE else None
