"""Optuna's plots of literal records, by hand."""

from typing import Any

import numpy as np
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from sweeper.config.space import SearchSpace
from sweeper.config.space_reading import parse_space
from sweeper.report.studies import (
    _distribution,
    by_sensitivity,
    has_top,
    history,
    sensitivity,
    varied,
)
from sweeper.results.records import TrialRecord
from tests.sweeper.records import failed, finished, sweep_of

SPACE: dict[str, Any] = {"method.tau": {"uniform": [0, 1]}, "layers.rho": {"grid": [-10, -12]}}


def space_of(raw: dict[str, Any] = SPACE) -> SearchSpace:
    return sweep_of(raw).space


def trial(number: int, acc: float, tau: float = 0.5, rho: int = -10) -> TrialRecord:
    return finished(number, acc, -acc / 10, values={"method.tau": tau, "layers.rho": rho})


# History


def test_the_history_has_every_finished_trial_by_its_number_and_the_best_so_far() -> None:
    scores = {0: 0.5, 2: 0.8, 3: 0.7, 7: 0.9}
    trials = [trial(number, acc) for number, acc in scores.items()]
    figure = history(space_of(), [*trials, failed(1, "no memory")], "acc")
    points, best, *_ = figure.data
    assert list(points.x) == list(best.x) == list(scores)
    np.testing.assert_allclose(points.y, [100 * acc for acc in scores.values()])
    np.testing.assert_allclose(best.y, np.maximum.accumulate(points.y))


def test_the_history_of_a_metric_is_of_that_metric() -> None:
    points, *_ = history(space_of(), [trial(0, 0.5), trial(1, 0.8)], "bwt").data
    np.testing.assert_allclose(points.y, [-5, -8])


# Sensitivity


def test_the_parameter_that_decides_has_the_longest_bar_and_bars_are_shares() -> None:
    random = np.random.default_rng(0)
    trials = [
        trial(number, 0.5 + tau / 2, tau, int(random.choice([-10, -12])))
        for number, tau in enumerate(random.uniform(0, 1, 60))
    ]
    (bars,) = sensitivity(space_of(), trials, "acc").data
    shares = dict(zip(bars.y, bars.x, strict=True))
    assert max(shares, key=shares.__getitem__) == "tau"
    assert sum(shares.values()) == pytest.approx(1)


def test_paths_come_by_sensitivity_or_by_the_file_where_that_cannot_be_told() -> None:
    space = space_of({"layers.rho": SPACE["layers.rho"], "method.tau": SPACE["method.tau"]})
    random = np.random.default_rng(0)
    trials = [
        trial(number, 0.5 + tau / 2, tau, int(random.choice([-10, -12])))
        for number, tau in enumerate(random.uniform(0, 1, 60))
    ]
    assert by_sensitivity(space, trials, "acc") == ["method.tau", "layers.rho"]
    few = [trial(0, 0.5), trial(1, 0.8, 0.1, -12)]
    assert by_sensitivity(space, few, "acc") == ["layers.rho", "method.tau"]
    ties = [trial(n, 0.5, n / 9, (-10, -12)[n % 2]) for n in range(9)]
    assert by_sensitivity(space, ties, "acc") == ["layers.rho", "method.tau"]


@pytest.mark.parametrize(
    ("scores", "is_so"),
    [
        ([0.1, 0.2, 0.3, 0.4], True),
        ([0.9, 0.9, 0.8, 0.8], True),
        ([0.9, 0.8, 0.8, 0.8], False),  # half count as best, one of them ties with the rest
        ([0.8] * 4, False),
    ],
)
def test_there_are_best_trials_if_not_too_many_tie(scores: list[float], is_so: bool) -> None:
    assert has_top([trial(number, acc) for number, acc in enumerate(scores)], "acc") == is_so


# Parameters


def test_a_path_is_varied_if_finished_trials_differ_in_it_or_not_all_have_it() -> None:
    space = space_of({path: {"grid": [1, 2]} for path in ("same", "other", "some", "unseen")})
    values = [{"same": 1, "other": 1, "some": 1}, {"same": 1, "other": 2}]
    trials = [finished(n, 0.5, 0.0, values=one) for n, one in enumerate(values)]
    assert varied(space, [*trials, failed(2, "no memory")]) == ["other", "some"]


@pytest.mark.parametrize(
    ("raw", "axis"),
    [
        ({"uniform": [0, 1]}, FloatDistribution(0, 1)),
        ({"log_uniform": [1e-5, 1e-3]}, FloatDistribution(1e-5, 1e-3, log=True)),
        ({"int": [1, 9]}, IntDistribution(1, 9)),
        ({"grid": [1, 2, 9]}, FloatDistribution(1, 9)),
        ({"grid": [1e-8, 1e-6, 1e-4]}, FloatDistribution(1e-8, 1e-4, log=True)),
        ({"grid": [-1000, 1000]}, FloatDistribution(-1000, 1000)),
        ({"grid": ["a", "b"]}, CategoricalDistribution(("a", "b"))),
        ({"grid": [1, None]}, CategoricalDistribution((1, None))),
        ({"choice": [1, 2]}, CategoricalDistribution((1, 2))),
        ({"choice": [True, False]}, CategoricalDistribution((True, False))),
    ],
)
def test_numbers_have_an_order_and_wide_ranges_a_logarithmic_axis(
    raw: dict[str, Any], axis: BaseDistribution
) -> None:
    faults: list[str] = []
    assert _distribution(parse_space({"a": raw}, "space", faults)["a"]) == axis
    assert faults == []
