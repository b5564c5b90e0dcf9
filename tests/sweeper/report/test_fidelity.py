"""How a comparison of two budgets reads."""

from sweeper.report.fidelity import markdown
from tests.sweeper.results.test_fidelity import LONG, SHORT, facts


def test_the_text_has_the_correlation_and_how_far_the_winner_moves() -> None:
    text = markdown(facts(*SHORT), facts(*LONG))
    assert "Spearman's rank correlation over 5 configurations: 0.80 [" in text
    assert "is number 2 of the long one, 2.00 points below its winner" in text
    assert "| tau_max=1 | 90.00 | 93.00 | 1 | 2 |" in text


def test_what_is_not_known_is_said() -> None:
    assert "– (one order is of equal ones only)" in markdown(facts(0.5, 0.5), facts(0.1, 0.2))
    few = markdown(facts(*SHORT), facts(*LONG[1:], first=1))
    assert "4 configurations (1 more finished in one only)" in few
