"""From a search space and a name to what Optuna calls distributions and a sampler.

A domain has two: the journal keeps the values of the file, for people and for the dashboard; a
sampler is asked for the place of an ordered point among the others, since the values of a grid
would be categories to it, 1e-3 no nearer to 1e-4 than to 1e-8.
"""

import warnings

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import (
    BaseSampler,
    CmaEsSampler,
    GPSampler,
    NSGAIISampler,
    RandomSampler,
    TPESampler,
)

from sweeper.config.settings import Sampler
from sweeper.config.space import Domain, Scalar, SearchSpace, Values


def suggest(space: SearchSpace, trial: optuna.Trial) -> Values:
    """Ask a sampler for a value of every path that exists beside those before it."""
    values: Values = {}
    for path, domain in space.items():
        if domain.is_active(values):
            values[path] = domain.typed(_suggest(domain, path, trial))
    return values


def _suggest(domain: Domain, path: str, trial: optuna.Trial) -> Scalar:
    if _has_places(domain):
        return _in_order(domain)[trial.suggest_int(path, 0, len(domain.values) - 1)]
    if domain.kind in ("uniform", "log_uniform"):
        low, high = domain.values
        return trial.suggest_float(path, low, high, log=domain.kind == "log_uniform")  # type: ignore[arg-type]
    if domain.kind == "int":
        low, high = domain.values
        return trial.suggest_int(path, low, high)  # type: ignore[arg-type]
    return trial.suggest_categorical(path, domain.values)


def places(space: SearchSpace, values: Values) -> Values:
    """What a sampler would have answered for these values to be suggested."""
    return {
        path: _in_order(space[path]).index(value) if _has_places(space[path]) else value
        for path, value in values.items()
    }


def distributions_of_places(space: SearchSpace, values: Values) -> dict[str, BaseDistribution]:
    """What `suggest` would have asked for these values."""
    return {
        path: IntDistribution(0, len(space[path].values) - 1)
        if _has_places(space[path])
        else _distribution(space[path])
        for path in values
    }


def _has_places(domain: Domain) -> bool:
    return domain.kind == "grid" and domain.is_ordered


def _in_order(domain: Domain) -> list[Scalar]:
    """The points by size: whoever wrote the grid has chosen its steps, so each counts as one."""
    return sorted(domain.values)  # type: ignore[type-var]  # numbers


def distributions(space: SearchSpace, values: Values) -> dict[str, BaseDistribution]:
    """What the journal says of these values."""
    return {path: _distribution(space[path]) for path in values}


def _distribution(domain: Domain) -> BaseDistribution:
    if domain.kind in ("uniform", "log_uniform"):
        low, high = domain.values
        return FloatDistribution(low, high, log=domain.kind == "log_uniform")  # type: ignore[arg-type]
    if domain.kind == "int":
        low, high = domain.values
        return IntDistribution(low, high)  # type: ignore[arg-type]
    return CategoricalDistribution(domain.values)


def build_sampler(name: Sampler, space: SearchSpace, seed: int) -> BaseSampler:
    """The sampler; the points of a grid are planned, so that nothing is left to draw there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if name == "tpe":
            return _tpe(space, seed)
        if name == "cmaes":
            # Choices and conditional paths are drawn at random, which it would say for each trial.
            return CmaEsSampler(seed=seed, warn_independent_sampling=False)
        if name == "gp":
            return GPSampler(seed=seed, warn_independent_sampling=False)
        if name == "nsga2":
            return NSGAIISampler(seed=seed)
        return RandomSampler(seed=seed)


def _tpe(space: SearchSpace, seed: int) -> TPESampler:
    """TPE that looks at all paths together and keeps away from what is running."""
    has_conditions = any(domain.when for domain in space.values())
    return TPESampler(
        seed=seed,
        multivariate=True,
        group=has_conditions,
        constant_liar=True,
    )
