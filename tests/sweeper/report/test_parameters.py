"""Axes of parameters, all of them at once, and which of them matter: literal records, by hand."""

from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution

from sweeper.config.space import Domain, SearchSpace
from sweeper.config.space_reading import parse_space
from sweeper.report.parameters import (
    by_sensitivity,
    has_top,
    is_logarithmic,
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


# Sensitivity


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


def test_the_parameter_that_decides_has_the_largest_share_and_shares_sum_to_one() -> None:
    random = np.random.default_rng(0)
    trials = [
        trial(number, 0.5 + tau / 2, tau, int(random.choice([-10, -12])))
        for number, tau in enumerate(random.uniform(0, 1, 60))
    ]
    shares = sensitivity(space_of(), trials, "acc")
    assert max(shares, key=shares.__getitem__) == "tau"
    assert sum(shares.values()) == pytest.approx(1)


def test_parameters_matter_in_the_order_that_optuna_finds() -> None:
    random, names = np.random.default_rng(1), ["x", "y", "z"]
    points = random.uniform(0, 1, (400, 3))
    scores = 0.6 * points[:, 0] + 0.25 * points[:, 1] + 0.02 * points[:, 2]
    values = [dict(zip(names, map(float, point), strict=True)) for point in points]
    trials = [finished(n, float(scores[n]), 0.0, values=one) for n, one in enumerate(values)]
    study = optuna.create_study(direction="maximize")
    axis = FloatDistribution(0, 1)
    study.add_trials(
        optuna.create_trial(
            value=float(score), params=one, distributions=dict.fromkeys(names, axis)
        )
        for score, one in zip(scores, values, strict=True)
    )
    evaluator = optuna.importance.PedAnovaImportanceEvaluator()
    theirs = optuna.importance.get_param_importances(study, evaluator=evaluator)
    ours = sensitivity(space_of({name: {"uniform": [0, 1]} for name in names}), trials, "acc")
    assert sorted(ours, key=ours.__getitem__) == sorted(theirs, key=theirs.__getitem__)
    assert ours["x"] == pytest.approx(theirs["x"], abs=0.1)


def test_a_parameter_with_many_values_gains_nothing_by_chance() -> None:
    random = np.random.default_rng(2)
    raw = {"many": {"uniform": [0, 1]}, "two": {"grid": [-10, -12]}}
    trials = [
        finished(n, 0.5 + 0.1 * bit + random.uniform(0, 0.05), 0.0, values=values)
        for n in range(40)
        for bit in [n % 2]
        for values in [{"many": random.uniform(0, 1), "two": (-10, -12)[bit]}]
    ]
    assert sensitivity(space_of(raw), trials, "acc")["two"] > 0.5


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


def domain(raw: dict[str, Any]) -> Domain:
    faults: list[str] = []
    found = parse_space({"a": raw}, "space", faults)["a"]
    assert faults == []
    return found


@pytest.mark.parametrize(
    ("raw", "is_so"),
    [
        ({"uniform": [0, 1]}, True),
        ({"int": [1, 9]}, True),
        ({"grid": [1, 2, 9]}, True),
        ({"grid": ["a", "b"]}, False),
        ({"grid": [1, None]}, False),
        ({"choice": [1, 2]}, False),
        ({"choice": [True, False]}, False),
    ],
)
def test_numbers_have_an_order_but_those_of_a_choice(raw: dict[str, Any], is_so: bool) -> None:
    assert domain(raw).is_ordered == is_so


@pytest.mark.parametrize(
    ("raw", "is_so"),
    [
        ({"uniform": [1, 1000]}, False),
        ({"log_uniform": [1e-5, 1e-3]}, True),
        ({"int": [1, 1000]}, False),
        ({"grid": [1, 2, 9]}, False),
        ({"grid": [1e-8, 1e-6, 1e-4]}, True),
        ({"grid": [-1000, 1000]}, False),
        ({"choice": [1, 1000]}, False),
    ],
)
def test_wide_ranges_have_a_logarithmic_axis(raw: dict[str, Any], is_so: bool) -> None:
    assert is_logarithmic(domain(raw)) == is_so
