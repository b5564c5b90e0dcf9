"""The parameters of a search: what kind of axis they have, and which of them matter.

From records alone: Optuna's plots take a second to import, and one trace for every trial.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from sweeper.config.space import Domain, SearchSpace
from sweeper.results.ranking import finished
from sweeper.results.records import TrialRecord
from sweeper.results.texts import short_names

LABELS = {"acc": "ACC (%)", "bwt": "BWT (%)"}
_LOG_FROM = 100  # a grid over more than this ratio is drawn on a logarithmic axis
FEWEST = 4  # trials that a sensitivity can be told from
_TOP = 5  # trials that a sensitivity should compare with the rest
_N_BINS = 10  # of a range, where trials are counted


def is_logarithmic(domain: Domain) -> bool:
    """Whether its axis is one of orders of magnitude."""
    if not domain.is_ordered or domain.kind not in ("log_uniform", "grid"):
        return False
    low, high = ends(domain)
    is_wide = low > 0 and high / low >= _LOG_FROM
    return domain.kind == "log_uniform" or is_wide


def varied(space: SearchSpace, trials: Sequence[TrialRecord]) -> list[str]:
    """The paths of which finished trials have had more than one value, or not all of them any."""
    done = finished(trials)
    seen = {path: {repr(trial.values.get(path)) for trial in done} for path in space}
    return [path for path, values in seen.items() if len(values) > 1]


def by_sensitivity(space: SearchSpace, trials: Sequence[TrialRecord], metric: str) -> list[str]:
    """The varied paths, those first that a metric depends on most; by the file if none can be."""
    paths = varied(space, trials)
    if len(finished(trials)) < FEWEST or len(paths) < 2 or not has_top(trials, metric):
        return paths
    shares, names = sensitivity(space, trials, metric), short_names(space)
    return sorted(paths, key=lambda path: -shares[names[path]])


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
    if not domain.is_ordered or 2 < len(domain.values) <= _N_BINS:
        return [repr(value) for value in values]
    scale = _scale(domain)
    low, high = map(scale, ends(domain))
    width = (high - low) / _N_BINS
    last = _N_BINS - 1
    return [v if v is None else min(last, int((scale(v) - low) / width)) for v in values]


def has_top(trials: Sequence[TrialRecord], metric: str) -> bool:
    """Whether the best can be told from the rest: with many ties, none are better than others."""
    values = sorted((trial.metrics[metric] for trial in finished(trials)), reverse=True)
    return values[_n_top(values) - 1] > values[-1]


def _n_top(done: Sequence[object]) -> int:
    return math.ceil(min(0.5, max(0.1, _TOP / len(done))) * len(done))


def ends(domain: Domain) -> tuple[float, float]:
    """The least and the greatest of its numbers."""
    numbers: list[Any] = list(domain.values)
    return min(numbers), max(numbers)


def _scale(domain: Domain) -> Callable[[Any], float]:
    return math.log10 if is_logarithmic(domain) else float
