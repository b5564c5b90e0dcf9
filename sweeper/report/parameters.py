"""The parameters of a search: their axes, all of them at once, and which of them matter.

From records alone: Optuna's plots take a second to import, and one trace for every trial.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import plotly.graph_objects as go

from sweeper.config.space import Domain, SearchSpace
from sweeper.results.ranking import finished
from sweeper.results.records import TrialRecord
from sweeper.results.texts import short_names, short_value

LABELS = {"acc": "ACC (%)", "bwt": "BWT (%)"}
_LOG_FROM = 100  # a grid over more than this ratio is drawn on a logarithmic axis
_TOP = 5  # trials that a sensitivity should compare with the rest
_N_BINS = 10  # of a range, where trials are counted; also the most ticks of an axis
_MISSING = "none"  # the value of a parameter that does not exist in a trial


def is_numeric(domain: Domain) -> bool:
    """Whether its values have an order: those of a choice have none."""
    return domain.kind != "choice" and all(type(value) in (int, float) for value in domain.values)


def is_logarithmic(domain: Domain) -> bool:
    """Whether its axis is one of orders of magnitude."""
    if not is_numeric(domain) or domain.kind not in ("log_uniform", "grid"):
        return False
    low, high = _ends(domain)
    is_wide = low > 0 and high / low >= _LOG_FROM
    return domain.kind == "log_uniform" or is_wide


def varied(space: SearchSpace, trials: Sequence[TrialRecord]) -> list[str]:
    """The paths of which finished trials have had more than one value, or not all of them any."""
    done = finished(trials)
    seen = {path: {repr(trial.values.get(path)) for trial in done} for path in space}
    return [path for path, values in seen.items() if len(values) > 1]


def parallel_coordinates(
    space: SearchSpace, trials: Sequence[TrialRecord], objective: Sequence[str]
) -> go.Figure:
    """One line per trial through its metrics and all its parameters.

    Args:
        space: of the sweep.
        trials: finished ones, the best first, whose lines are dark and above the others.
        objective: metrics that have an axis.
    """
    drawn, names = list(reversed(trials)), short_names(space)
    axes: list[dict[str, Any]] = [
        {"label": LABELS[metric], "values": [100 * trial.metrics[metric] for trial in drawn]}
        for metric in objective
    ]
    for path in varied(space, trials):
        values = [trial.values.get(path) for trial in drawn]
        axes.append({"label": names[path], **_axis(space[path], values)})
    line = {"color": list(range(len(drawn))), "colorscale": "Blues", "showscale": False}
    return go.Figure(go.Parcoords(dimensions=axes, line=line))


def _axis(domain: Domain, values: Sequence[object]) -> dict[str, Any]:
    """Where values stand on their axis, and its ticks; what is missing stands below all others."""
    if is_numeric(domain):
        scale = _scale(domain)
        low, high = map(scale, _ends(domain))
        step = (high - low) / _N_BINS
        marks = [scale(value) for value in domain.values]
        if len(marks) <= 2 or len(marks) > _N_BINS:
            marks = [low + step * place for place in range(0, _N_BINS + 1, 2)]
        texts = [short_value(10**at if is_logarithmic(domain) else at) for at in marks]
        places = [None if value is None else scale(value) for value in values]
    else:
        texts, low, step = [short_value(value) for value in domain.values], 0.0, 1.0
        marks = [float(place) for place in range(len(texts))]
        places = [None if value is None else texts.index(short_value(value)) for value in values]
    if None in places:
        marks, texts = [low - step, *marks], [_MISSING, *texts]
    at = [low - step if place is None else place for place in places]
    return {"values": at, "tickvals": marks, "ticktext": texts}


def sensitivity(
    space: SearchSpace, trials: Sequence[TrialRecord], metric: str
) -> dict[str, float]:
    """How much the best trials' choice of each parameter differs from all trials', in shares.

    PED-ANOVA: the Pearson divergence of the two distributions, here of counts in bins. What mere
    chance would add, the more the more bins there are, is taken off.
    """
    done = sorted(finished(trials), key=lambda trial: -trial.metrics[metric])
    names = short_names(space)
    found = {}
    for path in varied(space, done):
        bins = _bins(space[path], [trial.values.get(path) for trial in done])
        found[names[path]] = _divergence(bins[: _n_top(done)], bins)
    total = sum(found.values()) or 1.0
    return {name: divergence / total for name, divergence in found.items()}


def _divergence(top: Sequence[Hashable], every: Sequence[Hashable]) -> float:
    in_top, in_all = Counter(top), Counter(every)
    ratio = len(every) / len(top)
    found = sum(n * (in_top[one] * ratio / n - 1) ** 2 for one, n in in_all.items()) / len(every)
    return max(0.0, found - (len(in_all) - 1) * (1 / len(top) - 1 / len(every)))


def _bins(domain: Domain, values: Sequence[Any]) -> list[Hashable]:
    """For each value a name that it shares with those that count as the same choice."""
    if not is_numeric(domain) or 2 < len(domain.values) <= _N_BINS:
        return [repr(value) for value in values]
    scale = _scale(domain)
    low, high = map(scale, _ends(domain))
    width = (high - low) / _N_BINS
    last = _N_BINS - 1
    return [v if v is None else min(last, int((scale(v) - low) / width)) for v in values]


def has_top(trials: Sequence[TrialRecord], metric: str) -> bool:
    """Whether the best can be told from the rest: with many ties, none are better than others."""
    values = sorted((trial.metrics[metric] for trial in finished(trials)), reverse=True)
    return values[_n_top(values) - 1] > values[-1]


def _n_top(done: Sequence[object]) -> int:
    return math.ceil(min(0.5, max(0.1, _TOP / len(done))) * len(done))


def _ends(domain: Domain) -> tuple[float, float]:
    numbers: list[Any] = list(domain.values)
    return min(numbers), max(numbers)


def _scale(domain: Domain) -> Callable[[Any], float]:
    return math.log10 if is_logarithmic(domain) else float
