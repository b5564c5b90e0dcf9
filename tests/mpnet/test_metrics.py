"""Metrics on hand-made matrices."""

import numpy as np
import pytest

from mpnet import metrics

NAN = np.nan
R = np.array([[0.9, NAN, NAN], [0.95, 1.0, NAN], [0.6, 0.9, 0.8]])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acc", (0.6 + 0.9 + 0.8) / 3),
        ("bwt", (-0.3 - 0.1 + 0) / 3),
        ("bwt_gem", (-0.3 - 0.1) / 2),
        ("forgetting", (0.35 + 0.1) / 2),
        ("mean_diagonal", (0.9 + 1.0 + 0.8) / 3),
    ],
)
def test_three_tasks_by_hand(name: str, value: float) -> None:
    assert metrics.summary(R)[name] == pytest.approx(value)


def test_mean_diagonal_is_acc_less_bwt() -> None:
    assert metrics.mean_diagonal(R) == pytest.approx(metrics.acc(R) - metrics.bwt(R))


def test_a_single_task_has_nothing_to_forget() -> None:
    one = np.array([[0.7]])
    assert metrics.summary(one) == {
        "acc": 0.7,
        "bwt": 0.0,
        "bwt_gem": 0.0,
        "forgetting": 0.0,
        "mean_diagonal": 0.7,
    }


def test_calibration_error_is_the_weighted_gap_between_confidence_and_accuracy() -> None:
    confidence = np.array([0.95, 0.95, 0.95, 0.95, 0.55, 0.55])
    is_right = np.array([1.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    expected = (4 * abs(0.75 - 0.95) + 2 * abs(0.5 - 0.55)) / 6
    assert metrics.calibration_error(confidence, is_right) == pytest.approx(expected)


def test_certain_and_right_is_perfectly_calibrated() -> None:
    assert metrics.calibration_error(np.ones(5), np.ones(5)) == 0
