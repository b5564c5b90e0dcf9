"""Numbers of freedoms against naive sums, NumPy and closed forms, and what they read like."""

import json
import time

import numpy as np
import pytest
import torch

from mpnet.continual import run
from mpnet.methods import METHODS, Protection
from mpnet.metrics import Vector
from mpnet.selectivity import (
    QUANTILES,
    Selectivity,
    Words,
    gini,
    selectivity_of,
    summary,
)
from tests.mpnet.conftest import digits_run

SPREAD = np.geomspace(1e-6, 1, 100)
WORDS = Words("XYZ", "each has {free} and lacks {held}", "it rests")


def drawn(n: int, seed: int = 0) -> Vector:
    return np.random.default_rng(seed).random(n)


def naive_gini(values: Vector) -> float:
    differences = sum(abs(a - b) for a in values for b in values)
    return float(differences / (2 * len(values) * sum(values)))


# Numbers


@pytest.mark.parametrize("n", [1, 2, 3, 17, 100])
def test_gini_is_the_double_sum_over_all_pairs(n: int) -> None:
    values = np.sort(drawn(n) ** 3)
    assert gini(values) == pytest.approx(naive_gini(values), abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 1e-12, 0.3, 1.0])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_equal_freedom_has_no_selectivity(value: float, kind: type) -> None:
    assert summary(np.full(1001, value, kind)).selectivity == pytest.approx(0, abs=1e-12)


def test_gini_of_a_uniform_distribution_is_a_third() -> None:
    assert gini((np.arange(100_000) + 0.5) / 100_000) == pytest.approx(1 / 3, abs=1e-9)


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
def test_gini_is_the_share_that_is_held_where_the_rest_is_free(share: float) -> None:
    n_free = round(1000 * share)
    values = np.concatenate([np.zeros(1000 - n_free), np.ones(n_free)])
    assert gini(values) == pytest.approx(1 - share)


@pytest.mark.parametrize("power", [1, 2, 5])
def test_gini_of_a_power_law_is_its_closed_form(power: int) -> None:
    values = ((np.arange(100_000) + 0.5) / 100_000) ** power
    assert gini(values) == pytest.approx(power / (power + 2), abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_quantiles_are_those_of_numpy(n: int) -> None:
    values = drawn(n)
    assert summary(values).quantiles == pytest.approx(np.quantile(values, QUANTILES))


def test_held_is_below_a_tenth_and_free_above_nine() -> None:
    found = summary(np.array([0.95, 0.0, 0.1, 0.5, 0.9, 1.0, 0.05, 0.09]))
    assert (found.held, found.free) == (3 / 8, 2 / 8)


def test_single_precision_is_precise_for_millions_of_weights() -> None:
    values = drawn(6_500_000)
    start = time.process_time()
    found = summary(values.astype(np.float32))
    assert time.process_time() - start < 10  # a second on an idle core; a double sum takes weeks
    assert found.selectivity == pytest.approx(gini(np.sort(values)), rel=1e-6)


@pytest.mark.parametrize("values", [[], [-0.1, 0.5], [0.5, 1.1], [0.5, np.nan]])
def test_what_is_no_freedom_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"freedom: there must be values, all in \[0, 1\]"):
        summary(np.array(values))


def test_parts_of_one_name_are_one_layer() -> None:
    values = drawn(10)
    found = selectivity_of(values, drawn(10), [("a", 3), ("b", 4), ("a", 3)], WORDS)
    assert found.trunk == summary(values)
    assert found.layers == {
        "a": summary(np.concatenate([values[:3], values[7:]])),
        "b": summary(values[3:7]),
    }


def test_sizes_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="must add up to the 10 values .* but got 9"):
        selectivity_of(drawn(10), drawn(10), [("a", 4), ("b", 5)], WORDS)


def test_nothing_is_lost_on_the_way_through_json() -> None:
    found = selectivity_of(drawn(10), drawn(10), [("a", 4), ("b", 6)], WORDS)
    assert Selectivity.from_dict(json.loads(json.dumps(found.as_dict()))) == found


# Words


def test_a_line_says_how_much_is_held_and_free() -> None:
    found = selectivity_of(np.array([0.0, 0.0, 0.5, 1.0]), drawn(4), [("a", 4)], WORDS)
    line = "XYZ after task 3: 50 % of the weights held, 25 % free, selectivity 0.58"
    assert found.line(2) == line


@pytest.mark.parametrize(
    ("values", "warning"),
    [
        (np.linspace(0, 1, 101), None),
        (np.linspace(0.3, 0.5, 101), None),
        (np.linspace(0.66, 0.72, 101), "XYZ: each has 69 % and lacks 31 %"),
        (np.repeat([0.0, 1.0], [96, 4]), "XYZ: 96 % of the weights held: it rests"),
        (np.repeat([0.0, 1.0], [94, 6]), None),
        (
            np.full(9, 0.02),
            "XYZ: each has 2 % and lacks 98 %; 100 % of the weights held: it rests",
        ),
    ],
    ids=["even", "apart", "alike", "frozen", "nearly", "both"],
)
def test_what_does_not_select_is_said_so(values: Vector, warning: str | None) -> None:
    assert selectivity_of(values, SPREAD, [("a", len(values))], WORDS).warning == warning


# Methods


@pytest.mark.parametrize(
    ("holds", "limit", "freedom"),
    [("lowest", 2.0, [0, 0.5, 1]), ("highest", 2.0, [1, 0.5, 0])]
    + [("lowest", 0.0, [0, 0, 0]), ("highest", 0.0, [1, 1, 1])],
)
def test_freedom_is_the_share_of_the_limit_or_what_is_missing_of_it(
    holds: str, limit: float, freedom: list[float]
) -> None:
    values = torch.tensor([0.0, 1.0, 2.0])
    assert Protection("x", values, holds, limit, WORDS, values).freedom().tolist() == freedom  # type: ignore[arg-type]


@pytest.mark.parametrize("name", list(METHODS))
def test_the_selectivity_is_known_after_every_task_exactly_where_a_method_protects(
    name: str,
) -> None:
    config = digits_run(name)
    protects = config.build_method(config.build_stream()).protection() is not None
    known: list[list[bool]] = []
    run(config, lambda t, results: known.append([s is not None for s in results.selectivity]))
    assert known == [[protects and i <= t for i in range(5)] for t in range(5)]


@pytest.mark.parametrize("name", ["lra", "ppbi"])
def test_the_uniform_control_holds_all_weights_alike(name: str) -> None:
    config = digits_run(name, method={"name": name, "measure": "uniform"})
    found = run(config).selectivity[-1]
    assert found is not None and found.trunk.selectivity == pytest.approx(0, abs=1e-6)
    middle = found.trunk.quantiles[2]
    share = f"{100 * (middle if name == 'lra' else 1 - middle):.0f} %"
    expected = {
        "lra": f"LRA: every weight keeps {share} of its rate: this is fine-tuning at a lower rate",
        "ppbi": f"PPBI: every weight is held by {share} of tau_max: "
        "one KL weight for all, the prior alone is selective",
    }
    assert found.warning == expected[name]


def test_variances_in_lockstep_are_named_however_far_the_map_has_stretched_them() -> None:
    var = np.linspace(6.20e-6, 6.25e-6, 100)
    found = selectivity_of(np.linspace(0, 1, 100), var, [("a", 100)], WORDS)
    assert found.variance_ratio == pytest.approx(1.0073, abs=1e-4)
    assert found.warning == (
        "XYZ: 90 % of the variances lie within a factor of 1.01: they tell no weights apart, "
        "whatever is made of them"
    )
    apart = selectivity_of(np.linspace(0, 1, 100), np.geomspace(1e-6, 1, 100), [("a", 100)], WORDS)
    assert apart.warning is None
    assert apart.variance_ratio == pytest.approx(10 ** (6 * 0.9), rel=1e-3)
