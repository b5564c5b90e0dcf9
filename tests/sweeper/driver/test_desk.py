"""What a driver says of its sweeps to other shells, and does for them."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper.driver import desk
from sweeper.driver.desk import Desk
from sweeper.driver.progress import Progress
from sweeper.errors import SweepError
from sweeper.ledger import Ledger
from sweeper.ledger.live import LIVE, REQUESTS, Live, ask, read_live
from tests.sweeper.driver.queues import Queue, actives, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


class Driven:
    """A queue with a desk whose progress is told of every trial."""

    def __init__(self, folder: Path, *names: str) -> None:
        sweeps = actives(folder, *(swept(name, 4) for name in names))
        self.folder = folder / names[0]
        self.queue = Queue(*sweeps)
        self.progress = Progress(sweeps, [1.0] * len(sweeps))
        self.desk = Desk(self.queue, self.progress, "sweeper launch a.yaml --resume")
        self.given = self.queue.all_now()
        for assignment in self.given:
            self.progress.started(assignment)

    def live(self) -> Live:
        self.desk.look()
        found = read_live(self.folder)
        assert found is not None
        return found


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Those that the driver has sent."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(desk.os, "kill", lambda *words: sent.append(words))
    monkeypatch.setattr(desk, "_SECONDS", 0.01)
    return sent


@pytest.fixture
def driven(tmp_path: Path, signals: list[tuple[int, int]]) -> Iterator[Driven]:
    found = Driven(tmp_path, "a")
    with found.desk.open():
        found.live()
        yield found


def test_others_see_what_runs_and_how_far_it_is(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "a")
    told = {"step": 3, "score": 0.75, "task": 1, "n_tasks": 5, "epoch": 2, "n_epochs": 9}
    driven.progress.reported(driven.given[0], {**told, "hostname": "node7"})
    live = driven.live()
    assert (live.state, live.stage, live.n_over, live.n_wanted) == ("running", "search", 0, 4)
    first, second = live.running[:2]
    assert (first.name, first.place, first.acc) == ("trial 0", "task 2/5, epoch 3/9", 0.75)
    assert (first.settings, first.where) == ("x=0", "node7")
    assert (second.place, second.acc) == ("", None)
    assert live.is_fresh and not list(tmp_path.rglob(".live*"))


def test_a_sweep_is_at_work_until_its_report_is_written(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "a")
    given = driven.given
    while given:
        for assignment in given:
            driven.queue.finish(assignment)
        given = driven.queue.all_now()
    assert driven.queue.is_over
    assert (driven.live().stage, driven.live().n_wanted) == ("report", 0)
    driven.queue.sweeps[0].is_closed = True
    driven.desk.look()
    assert read_live(driven.folder) is None


def test_nothing_is_left_when_the_driver_ends(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "a")
    with driven.desk.open():
        driven.live()
    assert not (driven.folder / LIVE).exists() and not (driven.folder / REQUESTS).exists()


def test_stop_is_a_ctrl_c_of_the_driver_to_itself_once(
    driven: Driven, signals: list[tuple[int, int]]
) -> None:
    first, second = ask(driven.folder, "stop"), ask(driven.folder, "stop")
    assert first == (
        "Stopping, as by Ctrl-C; nothing is lost. Go on with:\n  sweeper launch a.yaml --resume"
    )
    assert second.startswith("It is stopping already")
    assert signals == [(os.getpid(), signal.SIGINT)]
    assert driven.live().state == "stopping"


def test_a_paused_queue_can_be_stopped(driven: Driven, signals: list[tuple[int, int]]) -> None:
    ask(driven.folder, "pause")
    ask(driven.folder, "stop")
    driven.live()
    assert len(signals) == 1 and not driven.queue.is_paused


def test_a_paused_queue_gives_nothing_new_until_it_goes_on(driven: Driven) -> None:
    queue = driven.queue
    assert ask(driven.folder, "resume") == "It was not paused."
    answer = ask(driven.folder, "pause")
    assert answer == "Paused: nothing new starts; 4 running trials to come to an end."
    assert ask(driven.folder, "pause") == "It is paused already."
    for assignment in driven.given:
        queue.finish(assignment)
    assert queue.next() is None and not queue.is_over
    assert driven.live().state == "paused"
    assert ask(driven.folder, "resume") == "It goes on."
    assert queue.next() is not None


def test_a_trial_that_is_stopped_by_hand_is_over_and_cannot_win(driven: Driven) -> None:
    first, *others = driven.given
    assert "trial 0 stops after its epoch" in ask(driven.folder, "stop", 0)
    assert "trial 0 is to stop already" in ask(driven.folder, "stop", 0)
    assert driven.queue.is_unwanted(first) and not driven.queue.is_unwanted(others[0])
    driven.queue.ended(first, {"step": 7, "R": "[[[1.0]]]"})
    record = Ledger(driven.folder).trial_records()[0]
    assert (record.state, record.reason) == ("stopped", "stopped by hand at step 7")
    assert record.shown == ([[1.0]],)
    for assignment in others:
        driven.queue.finish(assignment, 0.1)
    again = driven.queue.next()
    assert again is not None and (again.stage, again.trial) == ("test", 1)
    assert ask(driven.folder, "stop", 0) == (
        "trial 0 is not running (stopped); nothing was changed."
    )
    assert ask(driven.folder, "stop", 9) == "trial 9 is not there; nothing was changed."


def test_a_trial_that_is_not_wanted_is_not_tried_again_after_a_crash(driven: Driven) -> None:
    ask(driven.folder, "stop", 0)
    driven.queue.ended(driven.given[0], {"crash": "worker died"})
    assert Ledger(driven.folder).trial_records()[0].state == "stopped"


def test_the_folder_of_a_queue_stands_for_all_its_sweeps(
    tmp_path: Path, signals: list[tuple[int, int]]
) -> None:
    driven = Driven(tmp_path, "a", "b")
    with driven.desk.open():
        driven.live()
        assert ask(tmp_path, "pause").startswith("Paused, with all 2 sweeps of its queue")


def test_what_was_asked_of_a_dead_driver_is_not_asked_of_the_next(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "a")
    (driven.folder / REQUESTS).write_text('{"action": "stop", "trial": null, "id": "1"}\n')
    assert driven.live().state == "running"


def test_a_sweep_that_nobody_works_on_says_so(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "a")
    with pytest.raises(SweepError, match="none does; --resume goes on with it"):
        ask(driven.folder, "stop")
    Ledger(driven.folder).places = ["report"]
    with pytest.raises(SweepError, match="none does; it is finished"):
        ask(driven.folder, "stop")


def test_a_driver_that_died_is_told_by_its_silence_and_nothing_is_left_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven = Driven(tmp_path, "a")
    driven.live()
    monkeypatch.setattr("sweeper.ledger.live.FRESH_SECONDS", -1.0)
    with pytest.raises(SweepError, match="no sign of life for 0 s; if it is dead"):
        ask(driven.folder, "stop")
    assert not (driven.folder / REQUESTS).read_bytes()


def test_half_a_request_waits_for_its_other_half(tmp_path: Path) -> None:
    driven = Driven(tmp_path, "a")
    driven.live()
    path = driven.folder / REQUESTS
    path.write_text('{"action": "pause", ')
    assert driven.live().state == "running"
    path.write_text('{"action": "pause", "trial": null, "id": "1"}\n')
    assert driven.live().state == "paused"
