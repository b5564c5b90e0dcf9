"""Which trials are rerun on the test sets: pure functions of their records."""

from collections.abc import Sequence

from sweeper.errors import SweepError
from sweeper.ranking import finished, ranked
from sweeper.records import TrialRecord
from sweeper.space import Values
from sweeper.sweep import Sweep


def select(trials: Sequence[TrialRecord], sweep: Sweep) -> list[TrialRecord]:
    """The best by what they reached on validation data, the very best first.

    Raises:
        SweepError: too few trials have finished for "best" to mean anything.
    """
    n_finished, needed = len(finished(trials)), min(sweep.select.at_least, sweep.n_trials)
    if n_finished < needed:
        raise SweepError(
            f"{sweep.name}: select: at least {needed} trials must have finished all tasks before "
            f"the best are chosen, but {n_finished} of {len(trials)} have; let the sweep go on "
            "with --resume, or lower select.at_least."
        )
    return ranked(trials, sweep.select_objective)[: sweep.select.top]


def reruns(chosen: Sequence[TrialRecord], sweep: Sweep) -> list[Values]:
    """Every chosen trial with every seed; no seed that the search has used."""
    first = int(sweep.run.get("seed", 0)) + sweep.settings.repeats
    seeds = range(first, first + sweep.select.seeds)
    return [{"configuration": trial.number, "seed": seed} for trial in chosen for seed in seeds]
