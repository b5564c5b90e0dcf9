"""The driver's side of other shells: it says how sweeps go, and does what is asked of it."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sweeper.driver.active import ActiveSweep
from sweeper.driver.places import places_of
from sweeper.driver.progress import Progress
from sweeper.driver.sweep_queue import SweepQueue
from sweeper.ledger.live import (
    Live,
    Request,
    Requests,
    State,
    end_live,
    this_driver,
    write_live,
)
from sweeper.results.texts import counted

_SECONDS = 1.0  # between two looks
_MOST_SECONDS = 5.0  # without a sign of life, though nothing has changed


class Desk:
    """Requests to the driver of a queue, and what it says of its sweeps.

    Args:
        queue: of sweeps at work.
        progress: of their trials.
        again: the command that goes on after a stop.
    """

    def __init__(self, queue: SweepQueue, progress: Progress, again: str) -> None:
        self._queue, self._progress, self._again = queue, progress, again
        self._requests: dict[int, Requests] = {}  # of the sweeps that have begun, by place
        self._answers: dict[str, str] = {}
        self._said: dict[int, Live] = {}
        self._is_stopping = self._has_stopped = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Look every second, from a thread of its own, until there is nothing to ask for."""
        over = threading.Event()

        def look() -> None:
            while not over.wait(_SECONDS):
                with suppress(OSError):  # the next look may do better; no sweep fails for it
                    self.look()

        thread = threading.Thread(target=look, name="desk", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            for place in self._requests:
                with suppress(OSError):
                    end_live(self._queue.sweeps[place].prepared.opened.folder)

    def look(self) -> None:
        """Do what is asked, then say how all sweeps go; a stop comes when its answer was read."""
        if self._is_stopping and not self._has_stopped:
            self._has_stopped = True
            os.kill(os.getpid(), signal.SIGINT)  # what Ctrl-C does, to the letter
            self._queue.is_paused = False  # Tune listens only when it has something to do
        for sweep in self._queue.sweeps:
            if sweep.is_open and sweep.place not in self._requests:
                self._requests[sweep.place] = Requests(sweep.prepared.opened.folder)
        for place, requests in self._requests.items():
            for request in requests.new():
                self._answers[request.id] = self._done(self._queue.sweeps[place], request)
        for place in self._requests:
            self._say(self._queue.sweeps[place])

    def _done(self, sweep: ActiveSweep, request: Request) -> str:
        """Do it; gives the answer."""
        if request.trial is not None:
            return sweep.stop_by_hand(request.trial)
        if request.action == "stop":
            text = "It is stopping already" if self._is_stopping else "Stopping, as by Ctrl-C"
            self._is_stopping = True
            return f"{text}{self._all}; nothing is lost. Go on with:\n  {self._again}"
        is_pause = request.action == "pause"
        if self._queue.is_paused == is_pause:
            return f"It is paused already{self._all}." if is_pause else "It was not paused."
        self._queue.is_paused = is_pause
        if not is_pause:
            return f"It goes on{self._all}."
        n = counted(sum(one.n_running for one in self._queue.sweeps), "running trial")
        return f"Paused{self._all}: nothing new starts; {n} to come to an end."

    @property
    def _all(self) -> str:
        n = len(self._queue.sweeps)
        return f", with all {n} sweeps of its queue" if n > 1 else ""

    def _say(self, sweep: ActiveSweep) -> None:
        """Write what has changed, or that nothing has, but that somebody is there."""
        if sweep.is_closed:
            end_live(sweep.prepared.opened.folder)
            return
        live = self._live(sweep)
        before = self._said.get(sweep.place)
        if before and before.age < _MOST_SECONDS and _content(before) == _content(live):
            return
        write_live(sweep.prepared.opened.folder, live)
        self._said[sweep.place] = live

    def _live(self, sweep: ActiveSweep) -> Live:
        stage = sweep.stage
        state: State = "paused" if self._queue.is_paused else "running"
        tracked = sweep.tracking
        return Live(
            driver=this_driver(),
            state="stopping" if self._is_stopping else state,
            stage=stage.name if stage else "report",
            n_over=stage.n_wanted - stage.n_left if stage else 0,
            n_wanted=stage.n_wanted if stage else 0,
            seconds_left=self._progress.seconds_left,
            running=tuple(self._progress.running(sweep.place)),
            places=tuple(places_of(sweep.prepared, tracked)) if tracked else (),
            answers=dict(self._answers),
        )


def _content(live: Live) -> dict[str, Any]:
    """What is worth writing; times move on by themselves."""
    return {**vars(live), "time": 0, "seconds_left": 0}
