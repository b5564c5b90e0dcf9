"""What a report says in numbers: by hand, and as `mpnet.metrics` has it."""

import statistics
from dataclasses import replace

import numpy as np
import pytest

from mpnet import metrics
from sweeper.results import facts
from sweeper.results.facts import Failure, facts_of, over_seeds
from sweeper.results.records import Matrix
from sweeper.results.tested import Measured, measured
from tests.sweeper.records import (
    TESTS,
    TRIALS,
    failed,
    failed_rerun,
    finished,
    order_rerun,
    rerun,
    selective,
    sweep_of,
    unfinished,
)

# Means and deviations


def test_the_deviation_over_repeats_comes_from_their_matrices() -> None:
    scores = over_seeds(TRIALS[1])
    assert scores["acc"].deviation == pytest.approx(statistics.stdev([0.88, 0.94]))
    assert scores["bwt"].deviation == pytest.approx(statistics.stdev([-0.05, -0.02]))


@pytest.mark.parametrize("n_tasks", [1, 2, 5])
def test_what_seeds_came_to_is_what_the_metrics_of_a_run_say(n_tasks: int) -> None:
    drawn = [np.random.default_rng(seed).random((n_tasks, n_tasks)) for seed in range(3)]
    triangles = [np.where(np.tri(n_tasks, dtype=bool), R, np.nan) for R in drawn]
    matrices = tuple(_as_recorded(R) for R in triangles)
    acc, bwt = ([function(R) for R in triangles] for function in (metrics.acc, metrics.bwt))
    trial = finished(0, statistics.fmean(acc), statistics.fmean(bwt), R=matrices)
    for name, values in (("acc", acc), ("bwt", bwt)):
        found, expected = over_seeds(trial)[name], measured(values)
        assert (found.mean, found.n) == (pytest.approx(expected.mean), 3)
        assert found.deviation == pytest.approx(expected.deviation)


def _as_recorded(R: metrics.Matrix) -> Matrix:
    return [[None if np.isnan(value) else float(value) for value in row] for row in R]


def test_one_seed_and_a_trial_without_matrices_have_no_deviation() -> None:
    assert over_seeds(TRIALS[0])["acc"] == Measured(0.88, None, 1)
    assert over_seeds(replace(TRIALS[1], R=()))["acc"] == Measured(0.91, None, 1)


# Reruns


def test_test_results_are_ordered_as_the_ranking_and_count_failed_reruns() -> None:
    found = facts_of(sweep_of(), TRIALS, list(reversed(TESTS)))
    assert [(r.configuration, r.acc.n, r.n_failed) for r in found.tests] == [(2, 3, 0), (1, 1, 1)]


# What failed


def test_failures_are_counted_by_reason_the_most_frequent_first() -> None:
    trials = [
        failed(4, "rare"),
        failed(5, "often"),
        failed(7, " often\n"),
        unfinished(8, "failed"),
    ]
    stopped = unfinished(9, "stopped", reason="asha")
    tests = [failed_rerun(0, 1, 100, "often"), failed_rerun(1, 1, 101, "only there"), *TESTS[:1]]
    assert facts.failures([*trials, stopped, TRIALS[0]], tests) == [
        Failure("often", (5, 7), 1),
        Failure("rare", (4,), 0),
        Failure("no reason was recorded", (8,), 0),
        Failure("only there", (), 1),
    ]


# Class orders

ON_ORDERS = [order_rerun(5, 2, 103, 0, 0.5), order_rerun(6, 1, 103, 0, 0.6)]


def test_reruns_on_unseen_class_orders_are_never_mixed_with_those_on_the_tuned_one() -> None:
    after = [selective(0.3, 0.2, 0.4)]
    told = [replace(one, selectivity=(after,)) for one in ON_ORDERS]
    found, plain = (facts_of(sweep_of(), TRIALS, tests) for tests in ([*told, *TESTS], TESTS))
    assert found.tests == plain.tests
    assert found.best_test == plain.best_test
    assert found.protected == plain.protected == ()
    assert [(r.configuration, r.acc.mean) for r in found.order_tests] == [(2, 0.5), (1, 0.6)]
    assert plain.order_tests == () and plain.best_order_test is None


def test_the_best_on_unseen_class_orders_is_that_of_the_best_on_validation_data() -> None:
    found = facts_of(sweep_of(), TRIALS, ON_ORDERS)
    assert found.best_order_test == found.order_tests[0]
    assert found.best_test is None
    assert facts_of(sweep_of(), TRIALS, ON_ORDERS[1:]).best_order_test is None


def test_a_rerun_that_failed_on_an_unseen_class_order_is_among_the_failures() -> None:
    failed_there = replace(ON_ORDERS[0], state="failed", reason="OutOfMemory")
    assert facts.failures([], [failed_there]) == [Failure("OutOfMemory", (), 1)]


# Together


def test_the_front_of_acc_and_bwt_is_found() -> None:
    found = facts_of(sweep_of(), TRIALS, [])
    assert [trial.number for trial in found.front] == [2, 3]


def test_every_trial_is_ranked_or_listed_behind_and_counted() -> None:
    found = facts_of(sweep_of(), list(reversed(TRIALS)), [])
    assert [trial.number for trial in found.ranked] == [2, 1, 0, 4, 3]
    assert [trial.number for trial in found.unranked] == [5, 6, 7, 8, 9]
    assert found.counts == {"finished": 5, "failed": 3, "stopped": 1, "running": 1}
    assert found.seconds == sum(trial.seconds for trial in TRIALS)


def test_the_best_test_result_is_that_of_the_best_on_validation_data() -> None:
    tests = [rerun(0, 2, 100, 0.5, 0.0), rerun(1, 1, 100, 0.99, 0.0)]
    found = facts_of(sweep_of(), TRIALS, tests)
    assert found.best_test is not None
    assert (found.best_test.configuration, found.best_test.acc.mean) == (2, 0.5)
    assert facts_of(sweep_of(), TRIALS, tests[1:]).best_test is None
    assert facts_of(sweep_of(), [], tests).best_test is None
