"""Which classes form which task."""

import pytest

from mpnet.benchmarks import BENCHMARKS, Source
from mpnet.benchmarks._class_orders import class_groups, group_name


def test_without_an_order_classes_ascend() -> None:
    assert [list(group) for group in class_groups(6, 3, None)] == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(("n_classes", "n_tasks"), [(10, 1), (10, 2), (10, 5), (100, 5)])
@pytest.mark.parametrize("class_order", [None, 0, 1, 2**40])
def test_every_class_is_in_one_task_and_tasks_ascend_within(
    n_classes: int, n_tasks: int, class_order: int | None
) -> None:
    groups = class_groups(n_classes, n_tasks, class_order)
    assert [len(group) for group in groups] == [n_classes // n_tasks] * n_tasks
    assert sorted(c for group in groups for c in group) == list(range(n_classes))
    assert all(list(group) == sorted(group) for group in groups)


@pytest.mark.parametrize(
    ("classes", "name"),
    [((0, 1), "0-1"), (range(5, 10), "5-9"), ((1, 4, 8), "1,4,8"), ((0, 9), "0,9")],
)
def test_a_task_is_named_by_the_classes_that_it_holds(classes: tuple[int, ...], name: str) -> None:
    assert group_name(classes) == name


def test_the_names_of_a_stream_are_those_of_its_classes() -> None:
    stream = BENCHMARKS["digits"](Source("validation"), class_order=3)
    assert [task.name for task in stream] == [group_name(g) for g in class_groups(10, 5, 3)]
