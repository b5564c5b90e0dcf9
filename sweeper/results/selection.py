"""Which trials are rerun on the test sets: pure functions of their records."""

from collections.abc import Sequence
from itertools import count, islice

from sweeper.config.groups import Group, groups_of
from sweeper.config.sweep import Sweep
from sweeper.errors import SweepError
from sweeper.results.ranking import by_group, finished, ranked
from sweeper.results.records import Rerun, TrialRecord


def select(trials: Sequence[TrialRecord], sweep: Sweep) -> list[TrialRecord]:
    """The best, once enough trials have finished for "best" to mean anything.

    Raises:
        SweepError: too few have.
    """
    n_finished, needed = len(finished(trials)), min(sweep.select.at_least, sweep.n_trials)
    if n_finished < needed:
        raise SweepError(
            f"{sweep.name}: select: at least {needed} trials must have finished all tasks before "
            f"the best are chosen, but {n_finished} of {len(trials)} have; let the sweep go on "
            "with --resume, or lower select.at_least."
        )
    return best(trials, sweep)


def best(trials: Sequence[TrialRecord], sweep: Sweep) -> list[TrialRecord]:
    """The best of each group by what they reached on validation data, the very best first."""
    objective, groups = sweep.select_objective, by_group(trials, sweep.select.each)
    leading = [ranked(group, objective)[: sweep.select.top] for group in groups.values()]
    numbers = {trial.number for group in leading for trial in group}
    return [trial for trial in ranked(trials, objective) if trial.number in numbers]


def empty_groups(trials: Sequence[TrialRecord], sweep: Sweep) -> list[Group]:
    """The groups of the space without a finished trial: nothing of them can be rerun."""
    known = by_group(finished(trials), sweep.select.each)
    return [group for group in groups_of(sweep.space, sweep.select.each) if group not in known]


def reruns(chosen: Sequence[TrialRecord], sweep: Sweep) -> list[Rerun]:
    """Every chosen trial with every seed, then on every unseen class order; the same for all.

    No seed is one of the search's. Each order has a seed of its own, in both counts from the
    first: more seeds or more orders, asked for later, add reruns and change none.
    """
    first = 1 + max((seed for trial in chosen for seed in trial.seeds), default=0)
    seeds = range(first, first + sweep.select.seeds)
    orders = _unseen_orders(chosen, sweep.select.class_orders)
    return [
        *(Rerun(trial.number, seed) for trial in chosen for seed in seeds),
        *(
            Rerun(t.number, seed, order)
            for t in chosen
            for seed, order in enumerate(orders, first)
        ),
    ]


def _unseen_orders(chosen: Sequence[TrialRecord], n: int) -> list[int]:
    """The first class orders that no chosen trial was tuned on."""
    seen = {trial.run.get("benchmark", {}).get("class_order") for trial in chosen}
    return list(islice((order for order in count() if order not in seen), n))
