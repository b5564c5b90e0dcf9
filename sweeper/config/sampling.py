"""Which sampler searches a space: the one that was named, or what suits space and budget."""

from typing import NamedTuple

from sweeper.config.settings import DEFAULT_TRIALS, Sampler, SweepSettings
from sweeper.config.space import SearchSpace

MOST_TRIALS_OF_GP = 250  # its fit grows with the cube of the trials; OptunaHub's AutoSampler too


class ChosenSampler(NamedTuple):
    """A sampler, and why it is not simply the one that was named.

    Args:
        name: of the sampler that searches.
        reason: for a person; empty where the file has named the sampler itself.
    """

    name: Sampler
    reason: str = ""


def chosen_sampler(settings: SweepSettings, space: SearchSpace) -> ChosenSampler:
    """The sampler that will search the space with the trials that were asked for."""
    obstacle = _obstacle_for_gp(space)
    if settings.sampler == "auto":
        return _suited(settings.trials or DEFAULT_TRIALS, space, obstacle)
    if settings.sampler == "gp" and obstacle:
        return ChosenSampler("tpe", f"instead of gp: {obstacle}")
    return ChosenSampler(settings.sampler)


def _suited(n_trials: int, space: SearchSpace, obstacle: str) -> ChosenSampler:
    if space.size is not None and space.size <= n_trials:
        return ChosenSampler("grid", f"auto: all {space.size} points fit into the trials")
    if obstacle:
        return ChosenSampler("tpe", f"auto: {obstacle}")
    if n_trials > MOST_TRIALS_OF_GP:
        return ChosenSampler("tpe", f"auto: gp is for at most {MOST_TRIALS_OF_GP} trials")
    return ChosenSampler("gp", f"auto: all paths are ordered, at most {MOST_TRIALS_OF_GP} trials")


def _obstacle_for_gp(space: SearchSpace) -> str:
    """The first path of which a Gaussian process knows too little; empty if there is none."""
    for path, domain in space.items():
        if domain.when:
            return f"{path} has a condition"
        if not domain.is_ordered and len(domain.values) > 1:
            return f"{path} has no order"
    return ""
