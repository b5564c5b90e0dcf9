"""One queue of sweeps, on real ledgers: who gives when, and what comes of it."""

from pathlib import Path

import pytest

from sweeper.driver import sweep_queue
from sweeper.driver.cluster import Share
from sweeper.driver.preparation import OpenedSweep
from sweeper.errors import SweepError
from sweeper.execution.assignment import RerunAssignment
from sweeper.ledger import Ledger
from tests.sweeper.driver.queues import Queue, actives, names, swept
from tests.sweeper.ledgers import outcome
from tests.sweeper.studies import plain_sweep

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk", "in_order")


def test_near_the_end_trials_come_before_reruns_and_the_longest_reruns_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep_queue, "_NEAR_THE_END", 2)
    queue = Queue(*actives(tmp_path, swept("short", 2), swept("long", 2), swept("last", 5)))
    for assignment in queue.all_now():  # nine to start, more than twice four
        queue.ended(
            assignment, {"outcome": {**outcome(0.5), "seconds": 10.0 * (1 + assignment.sweep)}}
        )
    given = queue.all_now()
    assert names(queue, given) == [("last", "search")] * 4
    queue.finish(given[0])
    (fifth,) = queue.all_now()
    assert names(queue, [fifth]) == [("last", "search")]
    for assignment in given[1:]:
        queue.finish(assignment)
    assert names(queue, queue.all_now()) == [("long", "test")] * 2 + [("short", "test")]


def test_the_first_sweep_that_has_something_to_give_gives(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 3), swept("b", 3)))
    given = queue.all_now()
    assert names(queue, given) == [("a", "search")] * 3 + [("b", "search")]  # four devices
    assert queue.next() is None
    assert not queue.is_over


def test_reruns_start_when_their_search_is_over_while_others_still_search(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 2), swept("b", 4)))
    first, second, *others = queue.all_now()
    queue.finish(first, 0.4)
    assert names(queue, queue.all_now()) == [("b", "search")]
    queue.finish(second, 0.9)
    (rerun,) = queue.all_now()
    assert isinstance(rerun, RerunAssignment)
    assert (rerun.rerun.configuration, rerun.rerun.seed) == (second.number, 1)
    queue.finish(rerun)
    (last,) = queue.all_now()
    queue.finish(last)
    queue.next()
    assert queue.over == ["a"]
    assert not queue.is_over


def test_a_queue_ends_when_all_of_it_has(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a"), swept("b", 5), swept("c", select={"top": 0})))
    n_done = 0
    while given := queue.all_now():
        n_done += 1
        queue.finish(given[0])
        for assignment in given[1:]:
            n_done += 1
            queue.finish(assignment)
    assert queue.is_over
    assert n_done == 2 + 2 + 5 + 2 + 2
    assert sorted(queue.over) == ["a", "b", "c"]
    for active in queue.sweeps:
        opened = OpenedSweep(active.sweep, Ledger(active.prepared.opened.folder))
        opened.ledger.places = ["here"]
        assert opened.is_finished


@pytest.mark.parametrize(
    ("share", "devices", "n_given"),
    [
        (Share(1, 0, 8), (3, 0), 3),
        (Share(2, 0, 8), (3, 0), 1),
        (Share(1, 0.5, 8), (8, 2), 4),
        (Share(1, 1, 8), (8, 0), 0),
        (Share(1, 0, 8), None, 6),
    ],
)
def test_no_more_is_asked_for_than_devices_can_take(
    tmp_path: Path, share: Share, devices: tuple[float, float] | None, n_given: int
) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 6), share=share), devices=devices)
    assert len(queue.all_now()) == n_given


def test_trials_of_sweeps_with_other_needs_fill_what_is_left(tmp_path: Path) -> None:
    (gpu,) = actives(tmp_path, swept("gpu", 6), share=Share(1, 1, 2))
    (tmp_path / "cpu").mkdir()
    cpu = plain_sweep(swept("cpu", 6), tmp_path / "cpu", Share(1, 0, 8), place=1)
    queue = Queue(gpu, cpu, devices=(6, 2))
    assert names(queue, queue.all_now()) == [("gpu", "search")] * 2 + [("cpu", "search")] * 4


# Ends that are none


def test_a_full_storage_stops_all_and_loses_nothing(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 3), swept("b", 3)))
    first, *others = queue.all_now()
    queue.ended(first, {"halt": "/disk: no space left"})
    assert queue.next() is None
    for assignment in others:
        queue.finish(assignment)
    assert queue.next() is None
    assert queue.is_over
    assert queue.halted == "/disk: no space left"
    assert queue.over == []
    again = Queue(*actives(tmp_path, swept("a", 3), swept("b", 3)))
    given = again.all_now()
    assert (given[0].key, given[0].number, given[0].attempt) == (first.key, first.number, 1)
    assert [one.sweep for one in given[1:]] == [1, 1]  # a's others are done


def test_a_sweep_that_comes_to_nothing_does_not_hold_up_the_others(tmp_path: Path) -> None:
    queue = Queue(*actives(tmp_path, swept("a", 2), swept("b", 2)))
    for assignment in queue.all_now():
        queue.ended(
            assignment,
            {"failure": "diverged"} if assignment.sweep == 0 else {"outcome": outcome(0.5)},
        )
    for assignment in queue.all_now():
        queue.finish(assignment)
    queue.next()
    assert queue.is_over
    assert [active.code for active in queue.sweeps] == [1, 0]


def test_a_sweep_that_cannot_begin_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = actives(tmp_path, swept("a", 2), swept("b", 2))

    def refuse() -> None:
        raise SweepError("sweep.tracking_uri: away")

    monkeypatch.setattr(bad, "_opened_tracking", refuse)
    queue = Queue(bad, good)
    assert {one.sweep for one in queue.all_now()} == {1}
    assert str(queue.refused[0]) == "sweep.tracking_uri: away"
