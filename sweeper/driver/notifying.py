"""What is told of a sweep to those whom it names: of its end, of a failure, that nothing moves."""

import json
import time
from collections.abc import Callable
from threading import Thread
from typing import Any, Literal

from sweeper.config.settings import Event
from sweeper.driver import messengers
from sweeper.driver.active import ActiveSweep
from sweeper.driver.places import places_of
from sweeper.ledger import Ledger
from sweeper.report.terminal import headline
from sweeper.results.facts import Facts

State = Literal["finished", "stopped", "failed", "running"]
_EVENTS: dict[State, Event] = {
    "finished": "end",
    "stopped": "end",
    "failed": "failure",
    "running": "silence",
}
_SECONDS_TO_READ = 20.0  # a ledger, at the end


class Notifier:
    """Tells in threads of its own: nobody waits for it, and it fails no sweep.

    Args:
        again: the command that goes on with what has stopped.
        say: for a line about what could not be told.
    """

    def __init__(self, again: str, say: Callable[[str], None]) -> None:
        self._again, self._say = again, say
        self._threads: list[Thread] = []
        self._ended: set[int] = set()
        self._silent: dict[int, float] = {}  # when it was told last, by place

    def ended(self, sweep: ActiveSweep, state: State, reason: str = "") -> None:
        """Tell that nobody works on a sweep any more; once."""
        if sweep.place not in self._ended:
            self._ended.add(sweep.place)
            self._tell(sweep, state, reason)

    def silent(self, sweep: ActiveSweep, reason: str) -> None:
        """Tell that something does not move; of many, the first within the time of silence."""
        seconds = 60 * sweep.sweep.settings.silent_minutes
        now = time.monotonic()
        if now - self._silent.get(sweep.place, -seconds) >= seconds:
            self._silent[sweep.place] = now
            self._tell(sweep, "running", reason)

    def wait(self) -> None:
        """Until all is told, or has had its time."""
        end = time.monotonic() + messengers.SECONDS + _SECONDS_TO_READ
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _tell(self, sweep: ActiveSweep, state: State, reason: str) -> None:
        notify = sweep.sweep.settings.notify
        if notify is None or _EVENTS[state] not in notify.events:
            return

        def work() -> None:
            try:
                content = json.dumps(message(sweep, state, reason, self._again), allow_nan=False)
                for text in messengers.not_told(notify, content.encode()):
                    self._say(f"{sweep.sweep.name}: {text}")
            except Exception as error:  # of a disk, of a ledger: the sweep itself will meet it
                self._say(f"{sweep.sweep.name}: sweep.notify: not told: {type(error).__name__}.")

        self._threads.append(Thread(target=work, name="notify", daemon=True))
        self._threads[-1].start()


def message(sweep: ActiveSweep, state: State, reason: str, again: str) -> dict[str, Any]:
    """All that is told."""
    ledger = Ledger(sweep.ledger.folder)  # read anew: another thread writes
    facts = ledger.facts() if ledger.has_begun else None
    places = places_of(sweep.prepared, sweep.tracking) if sweep.tracking else ()
    name = sweep.sweep.name
    return {
        "event": _EVENTS[state],
        "sweep": name,
        "folder": str(ledger.folder.resolve()),
        "state": state,
        "reason": reason,
        "text": f"[{state}] {headline(facts) if facts else name}{reason and f': {reason}'}",
        "trials": {"planned": sweep.sweep.n_trials, **(facts.counts if facts else {})},
        "best": _best(facts) if facts and facts.best else None,
        "links": {what: link.strip() for what, _, link in (one.partition(":") for one in places)},
        "resume": again,
    }


def _best(facts: Facts) -> dict[str, Any]:
    trial, again = facts.best, facts.best_test
    assert trial is not None
    test = {"acc": again.acc.mean, "bwt": again.bwt.mean, "seeds": again.acc.n} if again else None
    validation = {metric: trial.metrics[metric] for metric in ("acc", "bwt")}
    values = dict(trial.values)
    return {"trial": trial.number, "values": values, "validation": validation, "test": test}
