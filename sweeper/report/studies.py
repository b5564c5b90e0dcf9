"""Optuna's own plots of a sweep, from a study in memory that is made of records.

Beside samplers.py and ledger.py the only file that knows Optuna: it plots, and never stores.
"""

import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import optuna
import plotly.graph_objects as go
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.trial import TrialState, create_trial

from sweeper.config.space import Domain, SearchSpace
from sweeper.results.ranking import finished
from sweeper.results.records import TrialRecord
from sweeper.results.texts import short_names

LABELS = {"acc": "ACC (%)", "bwt": "BWT (%)"}
_LOG_FROM = 100  # a grid over more than this ratio is drawn on a logarithmic axis
FEWEST = 4  # trials that a sensitivity can be told from
_TOP = 5  # trials that a sensitivity should compare with the rest, as Optuna advises


def history(space: SearchSpace, trials: Sequence[TrialRecord], metric: str) -> go.Figure:
    """The metric by trial, and the best so far."""
    figure = optuna.visualization.plot_optimization_history(
        _study(space, trials, [metric]), target_name=LABELS[metric]
    )
    numbers = [trial.number for trial in finished(trials)]
    for trace in figure.data:
        trace.x = [numbers[place] for place in trace.x]
    figure.update_layout(xaxis_title="trial", yaxis_title=f"validation {LABELS[metric]}")
    return figure


def sensitivity(space: SearchSpace, trials: Sequence[TrialRecord], metric: str) -> go.Figure:
    """How much the best trials' choice of each parameter differs from all trials' (PED-ANOVA).

    Args:
        space: of the sweep.
        trials: at least four finished ones.
        metric: the objective; a study for each, as Optuna would take the worst of several.
    """
    with _known_doubts():
        figure = optuna.visualization.plot_param_importances(
            _study(space, trials, [metric]), evaluator=_evaluator(trials)
        )
    figure.update_layout(xaxis_title="share of the sensitivity", yaxis_title=None)
    return figure


def by_sensitivity(space: SearchSpace, trials: Sequence[TrialRecord], metric: str) -> list[str]:
    """The varied paths, those first that a metric depends on most; by the file if none can be."""
    paths = varied(space, trials)
    if len(finished(trials)) < FEWEST or len(paths) < 2 or not has_top(trials, metric):
        return paths
    with _known_doubts():
        study = _study(space, trials, [metric])
        shares = optuna.importance.get_param_importances(study, evaluator=_evaluator(trials))
    names = short_names(space)
    return sorted(paths, key=lambda path: -shares.get(names[path], 0.0))


def _evaluator(trials: Sequence[TrialRecord]) -> PedAnovaImportanceEvaluator:
    return PedAnovaImportanceEvaluator(target_quantile=_top_share(trials))


@contextmanager
def _known_doubts() -> Iterator[None]:
    """Conditions that few trials meet; the figure's caption says how much to trust it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some regimes for parameter", UserWarning)
        yield


def has_top(trials: Sequence[TrialRecord], metric: str) -> bool:
    """Whether the best can be told from the rest: with many ties, none are better than others."""
    values = sorted((trial.metrics[metric] for trial in finished(trials)), reverse=True)
    return values[math.ceil(_top_share(trials) * len(values)) - 1] > values[-1]


def _top_share(trials: Sequence[TrialRecord]) -> float:
    return min(0.5, max(0.1, _TOP / len(finished(trials))))


def varied(space: SearchSpace, trials: Sequence[TrialRecord]) -> list[str]:
    """The paths of which finished trials have had more than one value, or not all of them any."""
    done = finished(trials)
    seen = {path: {repr(trial.values.get(path)) for trial in done} for path in space}
    return [path for path, values in seen.items() if len(values) > 1]


def _study(
    space: SearchSpace, trials: Sequence[TrialRecord], metrics: Sequence[str]
) -> optuna.Study:
    """The finished trials, metrics in percent, parameters under their short names."""
    with _quiet():
        study = optuna.create_study(directions=["maximize"] * len(metrics))
    names = short_names(space)
    study.add_trials(_frozen(trial, space, names, metrics) for trial in finished(trials))
    return study


def _frozen(
    trial: TrialRecord, space: SearchSpace, names: dict[str, str], metrics: Sequence[str]
) -> optuna.trial.FrozenTrial:
    known = [path for path in trial.values if path in space]
    return create_trial(
        state=TrialState.COMPLETE,
        values=[100 * trial.metrics[metric] for metric in metrics],
        params={names[path]: trial.values[path] for path in known},
        distributions={names[path]: _distribution(space[path]) for path in known},
    )


def _distribution(domain: Domain) -> BaseDistribution:
    """An axis for the domain: points of a grid of numbers have an order, those of a choice not."""
    is_numeric = all(type(value) in (int, float) for value in domain.values)
    if domain.kind == "choice" or not is_numeric:
        return CategoricalDistribution(domain.values)
    low, high = min(domain.values), max(domain.values)  # type: ignore[type-var]  # numeric
    if domain.kind == "int":
        return IntDistribution(low, high)  # type: ignore[arg-type]
    is_wide = low > 0 and high / low >= _LOG_FROM  # type: ignore[operator]
    is_log = domain.kind == "log_uniform" or (domain.kind == "grid" and is_wide)
    return FloatDistribution(low, high, log=is_log)  # type: ignore[arg-type]


def is_logarithmic(domain: Domain) -> bool:
    """Whether its axis is one of orders of magnitude."""
    return bool(getattr(_distribution(domain), "log", False))


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna announces every study, even one in memory."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
