"""Metrics on hand-made matrices."""

import numpy as np
import pytest

from mpnet import metrics

NAN = np.nan
R = np.array([[0.9, NAN, NAN], [0.8, 1.0, NAN], [0.6, 0.9, 0.8]])


def test_acc_is_the_mean_of_the_last_row() -> None:
    assert metrics.acc(R) == pytest.approx((0.6 + 0.9 + 0.8) / 3)


def test_bwt_is_divided_by_the_number_of_tasks_as_in_the_paper() -> None:
    assert metrics.bwt(R) == pytest.approx((-0.3 - 0.1 + 0) / 3)


def test_mean_diagonal_is_acc_less_bwt() -> None:
    assert metrics.mean_diagonal(R) == pytest.approx(metrics.acc(R) - metrics.bwt(R))
