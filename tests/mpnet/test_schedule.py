"""The learning rate in the course of a task."""

import pytest

from mpnet.schedule import Decay, rate_share


@pytest.mark.parametrize(
    ("decay", "step", "share"),
    [
        ("none", 0, 0.1),
        ("none", 9, 1.0),
        ("none", 99, 1.0),
        ("cosine", 0, 0.1),
        ("cosine", 50, 0.5),
        ("cosine", 100, 0.0),
        ("plateau", 4, 0.5),
        ("plateau", 99, 1.0),
    ],
)
def test_the_rate_warms_up_and_falls_as_asked(decay: Decay, step: int, share: float) -> None:
    assert rate_share(step, 100, 10, decay) == pytest.approx(share)


@pytest.mark.parametrize(("n_lowered", "share"), [(0, 1.0), (1, 1 / 3), (2, 1 / 9)])
def test_every_plateau_leaves_a_third(n_lowered: int, share: float) -> None:
    assert rate_share(50, 100, 10, "plateau", n_lowered) == pytest.approx(share)
