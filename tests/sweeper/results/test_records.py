"""What a record says of itself."""

import pytest

from sweeper.results.records import Rerun
from tests.sweeper.records import R_A, finished, rerun, unfinished


def test_trials_and_reruns_are_told_apart_by_the_keys_of_their_runs() -> None:
    assert finished(3, 0.9, 0.0).run_key == "search-key3"
    assert rerun(0, 3, 7, 0.9, 0.0).run_key == "test-t"


def test_the_split_belongs_to_the_kind_of_record() -> None:
    assert (finished(0, 0.9, 0.0).split, rerun(0, 0, 7, 0.9, 0.0).split) == ("validation", "test")


def test_tasks_are_numbered_from_one_and_named_by_their_data_set() -> None:
    assert finished(0, 0.9, 0.0, R=(R_A,)).task_names == ["1", "2"]
    named = finished(0, 0.9, 0.0, R=(R_A,), data_sets=("svhn", "mnist"))
    assert named.task_names == ["1 svhn", "2 mnist"]
    assert unfinished(0, "running").task_names == []


def test_only_first_tasks_that_were_taken_over_save_time() -> None:
    trained = {"name": "a", "is_taken": False, "seconds": 10.0}
    taken = {"name": "b", "is_taken": True, "seconds": 25.0}
    record = finished(0, 0.9, 0.0, seconds=60.0, first_tasks=(trained, taken))
    assert (record.seconds_saved, record.seconds_alone) == (25.0, 85.0)


@pytest.mark.parametrize(
    ("rerun", "fields", "words"),
    [
        (Rerun(4, 7), {"configuration": 4, "seed": 7}, "4, seed 7"),
        (
            Rerun(4, 7, 0),
            {"configuration": 4, "seed": 7, "class_order": 0},
            "4, seed 7, class order 0",
        ),
    ],
)
def test_a_rerun_on_the_tuned_class_order_leaves_no_trace_of_one(
    rerun: Rerun, fields: dict[str, int], words: str
) -> None:
    assert (rerun.fields, str(rerun)) == (fields, words)
