"""The picture of first tasks: rows, what they are called, what stands in them."""

from typing import Any

from sweeper.report.page import first_tasks
from sweeper.report.tree import rows, tree
from sweeper.results.facts import Facts, facts_of
from sweeper.results.records import TrialRecord
from tests.sweeper.records import finished, sweep_of

SPACE: dict[str, Any] = {
    "method.tau_0": {"grid": [1e-8, 1e-6]},
    "method.tau_max": {"grid": [1e-5, 1e-4]},
}


def trial(number: int, acc: float, tau_0: float, tau_max: float, is_taken: bool) -> TrialRecord:
    origin = {"name": f"{tau_0}.pt", "is_taken": is_taken, "seconds": 1.0}
    values = {"method.tau_0": tau_0, "method.tau_max": tau_max}
    return finished(number, acc, 0.0, values=values, first_tasks=(origin,))


TRIALS = [
    trial(0, 0.7, 1e-8, 1e-5, False),
    trial(1, 0.8, 1e-6, 1e-5, False),
    trial(2, 0.9, 1e-8, 1e-4, True),
    trial(3, 0.6, 1e-6, 1e-4, True),
]


def facts(trials: list[TrialRecord]) -> Facts:
    return facts_of(sweep_of(SPACE), trials, [])


def test_rows_are_named_by_what_tells_them_apart_and_the_best_come_first() -> None:
    found = [(name, [t.number for t in trials]) for name, trials in rows(facts(TRIALS))]
    assert found == [("tau_0=1e-08", [2, 0]), ("tau_0=1e-06", [1, 3])]


def test_the_only_first_task_needs_no_name() -> None:
    assert [name for name, _ in rows(facts([TRIALS[0], TRIALS[2]]))] == ["all trials"]


def test_every_trial_is_drawn_in_the_colour_of_its_acc() -> None:
    axes = tree(rows(facts(TRIALS))).axes[0]
    drawn = [dots.get_array().tolist() for dots in axes.collections]
    assert drawn == [[90.0, 70.0], [80.0, 60.0]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["tau_0=1e-08", "tau_0=1e-06"]


def test_where_nothing_is_shared_there_is_no_picture() -> None:
    assert first_tasks(facts(TRIALS[:2])) == ""
    assert first_tasks(facts([finished(0, 0.5, 0.0)])) == ""
    assert first_tasks(facts(TRIALS)).startswith("<svg")
