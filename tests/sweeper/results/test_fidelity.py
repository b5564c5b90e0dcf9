"""Whether a short budget orders configurations as a long one does."""

import pytest
from scipy import stats

from sweeper.errors import SweepError
from sweeper.results.facts import Facts, facts_of
from sweeper.results.fidelity import fidelity
from tests.sweeper.ledgers import swept
from tests.sweeper.records import finished


def facts(*accs: float, first: int = 0) -> Facts:
    trials = [
        finished(n, acc, 0.0, values={"method.tau_max": float(n)})
        for n, acc in enumerate(accs, first)
    ]
    return facts_of(swept(), trials, [])


SHORT, LONG = (0.5, 0.9, 0.7, 0.8, 0.6), (0.55, 0.93, 0.9, 0.95, 0.5)


def test_the_correlation_of_the_orders_is_spearmans() -> None:
    found = fidelity(facts(*SHORT), facts(*LONG))
    assert found.correlation == pytest.approx(stats.spearmanr(SHORT, LONG).statistic)
    low, high = found.interval or (0, 0)
    assert -1 < low < found.correlation < high < 1


def test_equal_ones_share_a_place_as_in_spearmans() -> None:
    short, long = (0.5, 0.5, 0.7, 0.8), (0.1, 0.2, 0.2, 0.2)
    found = fidelity(facts(*short), facts(*long))
    assert found.correlation == pytest.approx(stats.spearmanr(short, long).statistic)
    assert sorted(one.long_place for one in found.pairs) == [2, 2, 2, 4]


def test_the_winner_is_followed_into_the_long_order() -> None:
    found = fidelity(facts(*SHORT), facts(*LONG))
    assert (found.winner.long_place, found.long_winner.short_place) == (2, 2)
    assert found.loss == pytest.approx(0.02)


def test_what_only_one_budget_has_finished_is_left_out_and_counted() -> None:
    found = fidelity(facts(*SHORT), facts(*LONG[1:], first=1))
    assert (len(found.pairs), found.n_unpaired) == (4, 1)


def test_an_order_of_equal_ones_has_no_correlation() -> None:
    found = fidelity(facts(0.5, 0.5), facts(0.1, 0.2))
    assert found.correlation is None and found.interval is None


def test_perfect_orders_have_no_interval() -> None:
    found = fidelity(facts(*SHORT), facts(*SHORT))
    assert found.correlation == pytest.approx(1.0) and found.interval is None


def test_sweeps_without_common_configurations_are_refused() -> None:
    with pytest.raises(SweepError, match="at least two configurations must have finished in both"):
        fidelity(facts(*SHORT), facts(*LONG, first=9))
