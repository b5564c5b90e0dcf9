"""What reruns came to, by hand."""

import pytest

from sweeper.results import tested
from sweeper.results.tested import by_configuration, mean_matrix, measured, order_tested
from tests.sweeper.records import R_A, R_B, TESTS, TRIALS, failed_rerun, order_rerun, rerun

# Means and deviations


def test_the_deviation_is_over_n_less_one() -> None:
    value = measured([0.93, 0.95, 0.97])
    assert (value.mean, value.n) == (pytest.approx(0.95), 3)
    assert value.deviation == pytest.approx(0.02)  # sqrt((0.02^2 + 0 + 0.02^2) / 2)


def test_one_run_has_no_deviation() -> None:
    assert measured([0.9]).deviation is None


def test_a_mean_matrix_is_blank_where_any_is() -> None:
    assert mean_matrix([R_A, R_B]) == [
        [pytest.approx(0.92), None],
        [pytest.approx(0.85), pytest.approx(0.97)],
    ]
    assert mean_matrix([R_A]) == R_A
    assert mean_matrix([]) == []


# Seeds


def test_reruns_are_gathered_by_the_trial_that_they_repeat() -> None:
    groups = by_configuration([TESTS[3], *TESTS[:2], TESTS[4]])
    assert [(number, [r.number for r in group]) for number, group in groups.items()] == [
        (1, [3, 4]),
        (2, [0, 1]),
    ]


def test_a_configuration_has_what_its_finished_reruns_came_to_seed_by_seed() -> None:
    first, second = tested.tested(TRIALS, TESTS)
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
    assert tested.tested(TRIALS, [begun, failed_rerun(1, 2, 101, "OutOfMemory")]) == []


def test_reruns_of_an_unknown_trial_are_told_all_the_same() -> None:
    [found] = tested.tested([], TESTS[:1])
    assert (found.configuration, found.search, found.acc.mean) == (2, None, 0.93)


# Class orders


def test_a_configuration_has_what_it_came_to_on_unseen_class_orders() -> None:
    tests = [
        order_rerun(0, 2, 100, 0, 0.80, -0.1),
        order_rerun(1, 2, 101, 3, 0.90, -0.3),
        order_rerun(2, 2, 102, 4, 0.0, state="failed"),
        order_rerun(3, 1, 100, 0, 0.70),
    ]
    first, second = order_tested(TRIALS, tests)
    assert (first.configuration, first.search) == (2, TRIALS[2])
    assert (first.acc, first.bwt) == (measured([0.80, 0.90]), measured([-0.1, -0.3]))
    assert (first.seeds, first.n_failed) == ({0: 100, 3: 101}, 1)
    assert (second.configuration, second.acc, second.seeds) == (1, measured([0.7]), {0: 100})


def test_a_configuration_without_a_finished_rerun_on_an_unseen_order_has_no_result_there() -> None:
    assert order_tested(TRIALS, [order_rerun(0, 2, 100, 0, 0.0, state="failed")]) == []
