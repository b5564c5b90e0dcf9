"""How a configuration went on from task to task, by hand."""

import pytest

from sweeper.results.progress import acc_after_tasks
from sweeper.results.records import Matrix

R: Matrix = [[0.9, None, None], [0.7, 0.8, None], [0.3, 0.6, 0.9]]


@pytest.mark.parametrize(
    ("matrices", "expected"),
    [
        ([], []),
        ([R], [0.9, 0.75, 0.6]),
        ([R[:2]], [0.9, 0.75]),
        ([R, [[0.5]]], [0.7, 0.75, 0.6]),
    ],
)
def test_acc_is_over_the_tasks_so_far_and_the_seeds_that_came_so_far(
    matrices: list[Matrix], expected: list[float]
) -> None:
    assert acc_after_tasks(matrices) == pytest.approx(expected)
