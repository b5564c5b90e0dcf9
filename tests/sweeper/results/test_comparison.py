"""Groups side by side, against scipy and by hand."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from scipy import stats

from sweeper.results.comparison import Comparison, compare, paired
from sweeper.results.facts import facts_of
from sweeper.results.records import RerunRecord, TrialRecord
from tests.sweeper.groups import (
    FT,
    GROUPS,
    LRA,
    LRA_UNIFORM,
    PPBI,
    PPBI_UNIFORM,
    TESTS,
    TRIALS,
    reruns_of,
    swept,
)

# Differences of two vectors


def drawn(n: int, seed: int) -> dict[int, float]:
    random = Random(seed)
    return {number: random.gauss(0.9, 0.02) for number in range(n)}


@pytest.mark.parametrize("n", [2, 3, 5, 50])
def test_mean_and_interval_are_those_of_a_paired_t_test(n: int) -> None:
    first, second = drawn(n, 1), drawn(n, 2)
    found = paired(first, second)
    test = stats.ttest_rel(list(first.values()), list(second.values()))
    ends = test.confidence_interval(0.95)
    assert found.interval == pytest.approx((ends.low, ends.high), abs=1e-14)
    assert found.mean == pytest.approx((ends.low + ends.high) / 2, abs=1e-14)
    assert (found.n, found.is_clear) == (n, test.pvalue < 0.05)


def test_the_interval_by_hand() -> None:
    """Differences 1, 2, 3: mean 2, deviation 1, and t is 4.3027 for two degrees of freedom."""
    found = paired({0: 2.0, 1: 4.0, 2: 6.0}, {0: 1.0, 1: 2.0, 2: 3.0})
    assert (found.mean, found.n, found.is_clear) == (2.0, 3, False)
    assert found.half_width == pytest.approx(4.302653 / 3**0.5, abs=1e-6)


def test_what_all_runs_of_a_seed_share_does_not_count() -> None:
    easy_and_hard = {0: 0.2, 1: 0.5, 2: 0.9}
    better = {seed: value + 0.01 for seed, value in easy_and_hard.items()}
    found = paired(better, easy_and_hard)
    assert found.mean == pytest.approx(0.01)
    assert found.is_clear


def test_only_seeds_of_both_count_whatever_their_order() -> None:
    found = paired({0: 1.0, 1: 2.0, 7: 9.0}, {1: 1.0, 3: 5.0, 0: 1.0})
    assert (found.mean, found.n) == (0.5, 2)


def test_the_opposite_difference_has_the_opposite_interval() -> None:
    first, second = drawn(5, 3), drawn(5, 4)
    there, back = paired(first, second), paired(second, first)
    assert there.mean == pytest.approx(-back.mean)
    assert there.half_width == pytest.approx(back.half_width)


def test_one_pair_has_no_interval_and_is_never_clear() -> None:
    found = paired({0: 0.9}, {0: 0.1})
    assert (found.mean, found.interval, found.is_clear) == (pytest.approx(0.8), None, False)


def test_equal_runs_differ_by_nothing_and_that_is_not_clear() -> None:
    found = paired({0: 0.5, 1: 0.6}, {0: 0.5, 1: 0.6})
    assert (found.mean, found.half_width, found.is_clear) == (0.0, 0.0, False)


def test_without_a_common_seed_there_is_no_difference() -> None:
    with pytest.raises(ValueError, match="a run must be in both"):
        paired({0: 0.9}, {1: 0.1})


# Groups of a sweep


def compared(
    trials: Sequence[TrialRecord] = TRIALS, tests: Sequence[RerunRecord] = TESTS, **select: Any
) -> Comparison:
    return compare(facts_of(swept(**select), trials, tests))


def test_every_group_is_there_in_the_order_of_the_file() -> None:
    assert [member.group for member in compared().members] == GROUPS


def test_the_best_on_validation_data_stands_for_its_group() -> None:
    member = compared().members[0]
    assert member.trial is not None and member.rerun is not None
    assert (member.trial.number, member.n_trials) == (1, 2)
    assert member.rerun.acc.mean == pytest.approx(0.91)


def test_the_best_group_is_that_of_the_best_on_validation_data() -> None:
    assert compared().best == LRA  # on the test split ppbi is better


def test_the_best_is_compared_with_all_and_the_others_if_they_differ_in_one_value() -> None:
    assert [(pair.first, pair.second) for pair in compared().pairs] == [
        (LRA, LRA_UNIFORM),
        (LRA, PPBI),
        (LRA, PPBI_UNIFORM),
        (LRA, FT),
        (LRA_UNIFORM, PPBI_UNIFORM),
        (LRA_UNIFORM, FT),
        (PPBI, PPBI_UNIFORM),
        (PPBI, FT),
        (PPBI_UNIFORM, FT),
    ]


def test_a_pair_is_the_first_less_the_second_in_both_metrics() -> None:
    pair = compared().pairs[0]
    assert pair.acc == paired({1: 0.90, 2: 0.92}, {1: 0.80, 2: 0.84})
    assert pair.acc.mean == pytest.approx(0.09)
    assert pair.bwt.mean == pytest.approx(0.09)


def test_a_group_without_a_trial_or_without_a_rerun_is_in_no_pair() -> None:
    found = compared(TRIALS[:4], TESTS[:6])
    states = [(m.trial is not None, m.rerun is not None) for m in found.members]
    assert states == [(True, True), (True, True), (True, False), (False, False), (False, False)]
    assert [(pair.first, pair.second) for pair in found.pairs] == [(LRA, LRA_UNIFORM)]


def test_reruns_without_a_common_seed_are_not_compared() -> None:
    tests = [*reruns_of(1, 0.9), *reruns_of(2, 0.8, first_seed=7)]
    assert compared(tests=tests).pairs == ()


def test_a_sweep_without_each_compares_nothing() -> None:
    assert compared(each=()) == Comparison()


def test_before_the_first_rerun_there_is_no_best() -> None:
    found = compared(tests=[])
    assert (found.best, found.pairs, len(found.members)) == (None, (), 5)
