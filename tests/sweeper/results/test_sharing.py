"""What sharing has saved, by hand-made records."""

from typing import Any

from sweeper.results.records import TrialRecord
from sweeper.results.sharing import saved_text


def record(number: int, seconds: float, *shared: tuple[str, bool, float]) -> TrialRecord:
    origins: tuple[dict[str, Any], ...] = tuple(
        {"name": name, "is_taken": is_taken, "seconds": took} for name, is_taken, took in shared
    )
    return TrialRecord(
        number=number, key="k", state="finished", values={}, seconds=seconds, first_tasks=origins
    )


RECORDS = [
    record(0, 100.0, ("a", False, 60.0)),
    record(1, 40.0, ("a", True, 60.0)),
    record(2, 100.0, ("b", False, 60.0)),
    record(3, 40.0, ("a", True, 60.0)),
]


def test_what_was_saved_is_said() -> None:
    text = saved_text(RECORDS)
    assert text == (
        "2 first tasks fed 4 trials: taken over 2 times, which saved 2 min of training (1.4x less)"
    )


def test_where_nothing_was_taken_over_there_is_nothing_to_say() -> None:
    assert saved_text([RECORDS[0], RECORDS[2]]) == ""
    assert saved_text([record(0, 5.0)]) == ""


def test_a_trial_costs_what_it_took_and_would_have_cost_more_alone() -> None:
    assert (RECORDS[1].seconds_saved, RECORDS[1].seconds_alone) == (60.0, 100.0)
    assert (RECORDS[0].seconds_saved, RECORDS[0].seconds_alone) == (0.0, 100.0)
