"""Who is stopped by the scheduler `bound`, on real ledgers and as Tune asks."""

import json
from pathlib import Path
from typing import Any

import pytest

from sweeper.driver.bounding import matrices_of
from sweeper.execution.assignment import AnyAssignment
from sweeper.results.records import Matrix
from tests.sweeper.driver.queues import Queue, actives, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk", "in_order")


@pytest.fixture(autouse=True)
def one_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single finished trial is enough to compare with."""
    monkeypatch.setattr("sweeper.driver.bounding._FEWEST_RUNS", 1)


BAD: list[Matrix] = [[[0.5]]]  # with the ceilings of whole() at most (0.5 + 0.9) / 2


def whole(first: float, last: float) -> Matrix:
    return [[0.9, None], [first, last]]


def finish(queue: Queue, assignment: AnyAssignment, R: Matrix) -> None:
    acc = sum(R[-1]) / 2  # type: ignore[arg-type]  # the last row is whole
    metrics = {"acc": acc, "bwt": 0.0}
    seeds = list(assignment.seeds)
    outcome = {"metrics": metrics, "seeds": seeds, "R": [R] * len(seeds), "seconds": 1.0}
    queue.ended(assignment, {"outcome": outcome})


def report(matrices: list[Matrix]) -> dict[str, Any]:
    return {"step": 3, "R": json.dumps(matrices)}


def bounded(
    folder: Path, n_trials: int = 4, select: dict[str, Any] | None = None, **more: Any
) -> Queue:
    chosen = {"at_least": 1, **(select or {})}
    settings = {"scheduler": "bound", "slack": 0.0, **more}
    return Queue(*actives(folder, swept("a", n_trials, chosen, **settings)))


def test_a_report_without_a_task_has_no_matrix() -> None:
    assert matrices_of({"step": 1}) == []
    assert matrices_of(report(BAD)) == BAD


def test_nobody_is_stopped_before_a_trial_has_gone_through_all_tasks(tmp_path: Path) -> None:
    queue = bounded(tmp_path)
    first, second, *_ = queue.all_now()
    assert not queue.is_hopeless(second, report(BAD))
    finish(queue, first, whole(0.9, 0.9))
    assert queue.is_hopeless(second, report(BAD))
    assert not queue.is_hopeless(second, {"step": 1})


@pytest.mark.parametrize(("n_needed", "is_stopped"), [(2, True), (3, False)])
def test_a_few_finished_trials_say_too_little_to_stop_anyone(
    tmp_path: Path, n_needed: int, is_stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeper.driver.bounding._FEWEST_RUNS", n_needed)
    queue = bounded(tmp_path)
    first, second, third, _ = queue.all_now()
    finish(queue, first, whole(0.9, 0.9))
    assert not queue.is_hopeless(third, report(BAD))
    finish(queue, second, whole(0.9, 0.9))
    assert queue.is_hopeless(third, report(BAD)) is is_stopped


@pytest.mark.parametrize(("repeats", "is_stopped"), [(1, False), (2, True)])
def test_every_seed_of_a_finished_trial_is_a_run_to_compare_with(
    tmp_path: Path, repeats: int, is_stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeper.driver.bounding._FEWEST_RUNS", 2)
    queue = bounded(tmp_path, repeats=repeats)
    first, second, *_ = queue.all_now()
    finish(queue, first, whole(0.9, 0.9))
    assert queue.is_hopeless(second, report([[[0.1]]])) is is_stopped


def test_what_a_running_trial_has_shown_lifts_the_ceiling(tmp_path: Path) -> None:
    queue = bounded(tmp_path)
    first, second, third, _ = queue.all_now()
    finish(queue, first, whole(0.7, 0.7))
    assert queue.is_hopeless(second, report([[[0.6]]]))  # (0.6 + 0.7) / 2
    queue.is_hopeless(third, report([[[0.9, None], [0.8, 0.9]]]))
    assert not queue.is_hopeless(second, report([[[0.6]]]))  # (0.6 + 0.9) / 2


@pytest.mark.parametrize(("slack", "is_stopped"), [(0.0, True), (0.19, True), (0.21, False)])
def test_slack_gives_a_trial_more_room(tmp_path: Path, slack: float, is_stopped: bool) -> None:
    queue = bounded(tmp_path, slack=slack)
    first, second, *_ = queue.all_now()
    finish(queue, first, [[0.7, None], [0.7, 0.7]])
    assert queue.is_hopeless(second, report(BAD)) is is_stopped  # (0.5 + 0.7 + slack) / 2


@pytest.mark.parametrize(
    ("select", "is_stopped"),
    [({"top": 1}, True), ({"top": 2}, False), ({"at_least": 2}, False), ({"top": 0}, True)],
)
def test_as_many_as_will_be_rerun_and_are_needed_must_be_there_first(
    tmp_path: Path, select: dict[str, int], is_stopped: bool
) -> None:
    queue = bounded(tmp_path, select=select)
    first, second, *_ = queue.all_now()
    finish(queue, first, whole(0.9, 0.9))
    assert queue.is_hopeless(second, report(BAD)) is is_stopped


def test_a_group_is_compared_with_itself_only(tmp_path: Path) -> None:
    queue = bounded(tmp_path, select={"each": ["x"]})
    first, second, *_ = queue.all_now()
    finish(queue, first, whole(0.9, 0.9))
    assert not queue.is_hopeless(second, report(BAD))


@pytest.mark.parametrize("scheduler", ["none", "asha", "median"])
def test_other_schedulers_know_no_bound(tmp_path: Path, scheduler: str) -> None:
    queue = bounded(tmp_path, scheduler=scheduler)
    first, second, *_ = queue.all_now()
    finish(queue, first, whole(0.9, 0.9))
    assert not queue.is_hopeless(second, report(BAD))


def test_reruns_are_not_stopped(tmp_path: Path) -> None:
    queue = bounded(tmp_path, 1)
    (trial,) = queue.all_now()
    finish(queue, trial, whole(0.9, 0.9))
    rerun, _ = queue.all_now()
    assert rerun.stage == "test"
    assert not queue.is_hopeless(rerun, report(BAD))


def test_a_seed_that_has_not_begun_may_reach_all_ceilings(tmp_path: Path) -> None:
    queue = bounded(tmp_path, repeats=2)
    first, second, *_ = queue.all_now()
    finish(queue, first, whole(0.8, 0.8))
    assert not queue.is_hopeless(second, report([[[0.7]]]))  # (0.7 + 0.8 + 0.9 + 0.8) / 4
    assert queue.is_hopeless(second, report(BAD))


def test_a_stopped_trial_cannot_win_and_what_it_has_shown_is_known_after_a_restart(
    tmp_path: Path,
) -> None:
    queue = bounded(tmp_path, 3)
    first, second, third = queue.all_now()
    finish(queue, first, whole(0.7, 0.7))
    queue.ended(second, report([[[0.95, None], [0.1, 0.9]]]))
    record = queue.sweeps[0].ledger.trial_records()[second.number]
    assert record.state == "stopped"
    assert record.reason == (
        "stopped by the scheduler at step 3: it could have reached ACC 50.00% at most"
    )
    again = bounded(tmp_path, 3)
    (resumed,) = again.all_now()
    assert resumed.number == third.number
    assert not again.is_hopeless(resumed, report([[[0.6]]]))  # (0.6 + 0.9) / 2
    finish(again, resumed, whole(0.6, 0.6))
    (rerun, _) = again.all_now()
    assert rerun.trial == first.number
