"""One sweep at work: what it gives, what it writes down, how it comes to its end."""

from pathlib import Path
from typing import Any

import pytest

from sweeper.driver.cluster import Share
from sweeper.execution.assignment import RerunAssignment
from tests.sweeper.driver.queues import Queue, actives, names, swept
from tests.sweeper.ledgers import outcome

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk", "in_order")


def test_a_sweep_gets_no_more_at_once_than_lets_its_sampler_learn(tmp_path: Path) -> None:
    first, second = actives(tmp_path, swept("a", 4), swept("b", 4))
    first.most_at_once = 1
    queue = Queue(first, second)
    assert names(queue, queue.all_now()) == [("a", "search")] + [("b", "search")] * 3


def test_the_test_split_is_out_of_a_searchs_reach(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 2)))
    given = queue.all_now()
    for assignment in given:
        assert assignment.resolved(0)["split"] == "validation"
        queue.finish(assignment)
    for assignment in queue.all_now():
        assert assignment.resolved(1)["split"] == "test"


def test_a_crash_is_tried_again_as_often_as_its_own_sweep_says(tmp_path: Path) -> None:
    never, once = swept("never", 1, retries=0), swept("once", 1, retries=1)
    queue = Queue(*actives(tmp_path, never, once))
    for assignment in queue.all_now():
        queue.ended(assignment, {"crash": "KeyError: 'x'"})
    (again,) = queue.all_now()
    assert (again.sweep, again.number, again.attempt) == (1, 0, 1)
    queue.ended(again, {"crash": "KeyError: 'y'"})
    assert queue.all_now() == []
    assert queue.is_over
    records = [active.ledger.trial_records()[0] for active in queue.sweeps]
    assert [(r.state, r.reason) for r in records] == [
        ("failed", "KeyError: 'x'"),
        ("failed", "KeyError: 'y'"),
    ]
    assert [active.code for active in queue.sweeps] == [1, 1]


def test_a_trial_without_memory_on_its_gpu_is_tried_again_where_fewer_share_one(
    tmp_path: Path,
) -> None:
    said: list[str] = []
    (active,) = actives(tmp_path, swept("a", 4, retries=0), share=Share(1, 0.25, 4))
    active.say = said.append
    active.most_at_once = 4
    queue = Queue(active, devices=(4, 1))
    first, second, *others = queue.all_now()
    queue.ended(first, {"crowded": "CUDA out of memory"})
    queue.ended(second, {"crowded": "CUDA out of memory"})  # began when there was less room
    assert (active.prepared.share.gpu, active.most_at_once) == (0.5, 2)
    assert said == [
        f"a: trial {n} ran out of memory on 0.25 of a GPU; it is tried again, and from now on "
        "each gets 0.5."
        for n in (0, 1)
    ]
    for assignment in others:
        queue.finish(assignment)
    again = queue.all_now()
    assert [(a.number, a.attempt, a.surroundings.gpu) for a in again] == [(0, 1, 0.5), (1, 1, 0.5)]


def test_a_trial_without_memory_on_a_gpu_of_its_own_has_crashed(tmp_path: Path) -> None:
    (active,) = actives(tmp_path, swept("a", 1, retries=1), share=Share(1, 0.5, 2))
    queue = Queue(active, devices=(4, 1))
    for gpu, attempt in ((0.5, 0), (1.0, 1), (1.0, 2)):
        (assignment,) = queue.all_now()
        assert (assignment.surroundings.gpu, assignment.attempt) == (gpu, attempt)
        queue.ended(assignment, {"crowded": "CUDA out of memory"})
    (record,) = active.ledger.trial_records()
    assert (record.state, record.reason) == ("failed", "CUDA out of memory")


def test_what_a_scheduler_stops_is_stopped_and_cannot_win(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 2, {"at_least": 1, "seeds": 1})))
    good, bad = queue.all_now()
    queue.ended(bad, {"step": 3})
    queue.finish(good)
    (rerun,) = queue.all_now()
    assert isinstance(rerun, RerunAssignment)
    assert rerun.rerun.configuration == good.number
    records = queue.sweeps[0].ledger.trial_records()
    assert [record.state for record in records] == ["finished", "stopped"]
    assert records[1].reason == "stopped by the scheduler at step 3"


def test_hours_are_each_sweeps_own(tmp_path: Path) -> None:
    said: list[str] = []
    short, long = actives(tmp_path, swept("a", 4, hours=1, concurrency=2), swept("b", 3))
    short.say = said.append
    short.most_at_once = 2
    queue = Queue(short, long)
    first, second, *others = queue.all_now()
    queue.finish(first)
    short.deadline = 0.0
    assert queue.is_late(second)
    assert not queue.is_late(others[0])
    queue.ended(second, {"step": 1})  # stopped by the clock, to be gone on with another time
    assert said == []
    queue.all_now()
    assert (
        said[0] == "a: out of time with 3 trials to go; more hours and --resume go on with them."
    )
    states = [record.state for record in short.ledger.trial_records()]
    assert states == ["finished", "running"]
    assert [active.n_running for active in queue.sweeps] == [0, 3]


# What it gives


def test_what_runs_again_runs_as_it_was_recorded_though_defaults_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (active,) = actives(tmp_path, swept("a", 1))
    first = active.next()
    assert first is not None
    active.ended(first, {"halt": "/disk: no space left"})
    (resumed,) = actives(tmp_path, swept("a", 1))
    monkeypatch.setattr(resumed, "_resolved", lambda asked: {"seed": 9})
    again = resumed.next()
    assert again is not None
    assert (again.run, again.attempt) == (first.run, 1)


@pytest.mark.parametrize(
    ("keep_runs", "stages"), [("none", ()), ("test", ("test",)), ("all", ("search", "test"))]
)
def test_a_worker_is_told_which_stages_keep_their_runs(
    tmp_path: Path, keep_runs: str, stages: tuple[str, ...]
) -> None:
    (active,) = actives(tmp_path, swept("a", 1, keep_runs=keep_runs))
    assignment = active.next()
    assert assignment is not None
    assert assignment.surroundings.keep_runs == stages


@pytest.mark.parametrize(
    ("scheduler", "is_each_told"), [("none", False), ("asha", True), ("bound", False)]
)
def test_every_epoch_is_reported_only_where_a_scheduler_compares_them(
    tmp_path: Path, scheduler: str, is_each_told: bool
) -> None:
    (active,) = actives(tmp_path, swept("a", 1, scheduler=scheduler))
    assignment = active.next()
    assert assignment is not None
    assert (assignment.surroundings.report_seconds == 0) == is_each_told


def test_a_trial_has_a_seed_for_each_repeat_and_a_rerun_one_that_no_trial_has_used(
    tmp_path: Path,
) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 2, repeats=3)))
    trials = queue.all_now()
    assert [trial.seeds for trial in trials] == [(0, 1, 2)] * 2
    for trial in trials:
        queue.ended(trial, {"outcome": {**outcome(0.5), "seeds": list(trial.seeds)}})
    first = queue.next()
    assert isinstance(first, RerunAssignment)
    assert first.seeds == (first.rerun.seed,)
    assert first.rerun.seed > 2


# What is left of a trial


@pytest.mark.parametrize(
    ("ending", "is_kept"),
    [
        ({"outcome": outcome(0.5)}, False),
        ({"failure": "diverged"}, False),
        ({"step": 3}, False),
        ({"halt": "/disk: no space left"}, True),
        ({"crash": "KeyError: 'x'"}, True),
    ],
)
def test_what_a_trial_has_saved_is_kept_as_long_as_it_may_go_on(
    tmp_path: Path, ending: dict[str, Any], is_kept: bool
) -> None:
    (active,) = actives(tmp_path, swept("a", 1))
    assignment = active.next()
    assert assignment is not None
    saved = Path(assignment.storage, assignment.folder)
    saved.mkdir(parents=True)
    active.ended(assignment, ending)
    assert saved.exists() == is_kept


# From the search to the reruns


def test_a_selection_alone_starts_with_the_reruns(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 2)))
    for acc, trial in zip((0.4, 0.9), queue.all_now(), strict=True):
        queue.finish(trial, acc)
    (again,) = actives(tmp_path, swept("a", 4))  # two more trials, which are not wanted now
    again.is_select_only = True
    first = again.next()
    assert isinstance(first, RerunAssignment)
    assert first.rerun.configuration == 1


def test_too_few_finished_trials_end_a_sweep_without_reruns_and_say_so(tmp_path: Path) -> None:
    said: list[str] = []
    (active,) = actives(tmp_path, swept("a", 2, {"at_least": 2}))
    active.say = said.append
    queue = Queue(active)
    good, bad = queue.all_now()
    queue.finish(good)
    queue.ended(bad, {"failure": "diverged"})
    assert queue.next() is None
    assert (active.is_over, active.code) == (True, 1)
    assert len(said) == 1 and "2" in said[0]


def test_a_group_without_a_finished_trial_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    (active,) = actives(tmp_path, swept("a", 3, {"each": ["x"]}))
    active.say = said.append
    queue = Queue(active)
    first, *others = queue.all_now()
    queue.ended(first, {"failure": "diverged"})
    for trial in others:
        queue.finish(trial)
    queue.next()
    assert said == ["a: x=0: no trial has finished, so there is none to rerun."]
