"""What a report says in numbers: by hand, and as `mpnet.metrics` has it."""

import statistics
from dataclasses import replace

import numpy as np
import pytest

from mpnet import metrics
from sweeper.results import facts
from sweeper.results.facts import Failure, facts_of, mean_matrix, measured, over_seeds
from sweeper.results.records import Matrix
from tests.sweeper.records import (
    R_A,
    R_B,
    TESTS,
    TRIALS,
    failed,
    failed_rerun,
    finished,
    rerun,
    sweep_of,
    unfinished,
)

# Means and deviations


def test_the_deviation_is_over_n_less_one() -> None:
    value = measured([0.93, 0.95, 0.97])
    assert (value.mean, value.n) == (pytest.approx(0.95), 3)
    assert value.deviation == pytest.approx(0.02)  # sqrt((0.02^2 + 0 + 0.02^2) / 2)


def test_one_run_has_no_deviation() -> None:
    assert measured([0.9]).deviation is None


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
    assert over_seeds(TRIALS[0])["acc"] == facts.Measured(0.88, None, 1)
    assert over_seeds(replace(TRIALS[1], R=()))["acc"] == facts.Measured(0.91, None, 1)


def test_a_mean_matrix_is_blank_where_any_is() -> None:
    assert mean_matrix([R_A, R_B]) == [
        [pytest.approx(0.92), None],
        [pytest.approx(0.85), pytest.approx(0.97)],
    ]
    assert mean_matrix([R_A]) == R_A
    assert mean_matrix([]) == []


# Reruns


def test_reruns_are_gathered_by_the_trial_that_they_repeat() -> None:
    groups = facts.by_configuration([TESTS[3], *TESTS[:2], TESTS[4]])
    assert [(number, [r.number for r in group]) for number, group in groups.items()] == [
        (1, [3, 4]),
        (2, [0, 1]),
    ]


def test_a_configuration_has_what_its_finished_reruns_came_to_seed_by_seed() -> None:
    first, second = facts.tested(TRIALS, TESTS)
    assert (first.configuration, first.search, first.seeds) == (2, TRIALS[2], (100, 101, 102))
    assert first.by_seed == {
        "acc": {100: 0.93, 101: 0.95, 102: 0.97},
        "bwt": {100: -0.02, 101: -0.04, 102: -0.06},
    }
    assert (first.acc, first.bwt) == (
        measured([0.93, 0.95, 0.97]),
        measured([-0.02, -0.04, -0.06]),
    )
    assert (first.R, first.run, first.n_failed) == (mean_matrix([R_B] * 3), TESTS[0].run, 0)
    assert (second.configuration, second.acc.n, second.n_failed) == (1, 1, 1)


def test_a_configuration_without_a_finished_rerun_has_no_test_result() -> None:
    begun = rerun(0, 2, 100, 0.9, 0.0, state="running", metrics={}, R=())
    assert facts.tested(TRIALS, [begun, failed_rerun(1, 2, 101, "OutOfMemory")]) == []


def test_reruns_of_an_unknown_trial_are_told_all_the_same() -> None:
    [found] = facts.tested([], TESTS[:1])
    assert (found.configuration, found.search, found.acc.mean) == (2, None, 0.93)


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
