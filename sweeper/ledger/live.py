"""What a driver says of a sweep at work, and what others ask of it: two files beside the journal.

A view, from which nobody decides anything: the journal stays the truth. The driver replaces its
file as a whole; requests are lines at the end of one that it reads again and again. Neither lists
folders nor waits for new names, which a network file system may show late.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from sweeper.errors import SweepError
from sweeper.ledger.ledger import JOURNAL, open_ledger

LIVE, REQUESTS = "live.json", "requests.jsonl"
FRESH_SECONDS = 30.0  # a driver writes at least every few seconds

State = Literal["running", "paused", "stopping"]
Action = Literal["stop", "pause", "resume"]


@dataclass(frozen=True)
class RunningTrial:
    """A trial or rerun at work.

    Args:
        name: as a person calls it.
        settings: its searched values.
        place: how far it is, in words; empty before its first report.
        acc: over the tasks so far, the present one as it stands.
        where: node and device.
        heard: when it last gave a sign of life, in seconds since 1970.
    """

    name: str
    settings: str
    place: str
    acc: float | None
    where: str
    heard: float


@dataclass(frozen=True)
class Live:
    """A sweep at work, as its driver sees it.

    Args:
        driver: host and process.
        seconds_left: of all that its driver has to do; None while that is unknown.
        places: where to look at the sweep.
        answers: to requests, by their identity.
        time: of writing, in seconds since 1970.
    """

    driver: str
    state: State
    stage: str
    n_over: int
    n_wanted: int
    seconds_left: float | None
    running: tuple[RunningTrial, ...]
    places: tuple[str, ...] = ()
    answers: Mapping[str, str] = field(default_factory=dict)
    time: float = field(default_factory=time.time)

    @property
    def age(self) -> float:
        """Seconds since its driver last gave a sign of life."""
        return max(0.0, time.time() - self.time)

    @property
    def is_fresh(self) -> bool:
        """Whether its driver is at work, as far as can be seen from elsewhere."""
        return self.age < FRESH_SECONDS


def this_driver() -> str:
    """This process, by a name that is known on other machines."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def write_live(folder: Path, live: Live) -> None:
    """Replace what is said of a sweep, all at once."""
    part = folder / f".{LIVE}.{os.getpid()}.{threading.get_ident()}"
    part.write_text(json.dumps(asdict(live)))
    part.replace(folder / LIVE)


def read_live(folder: Path) -> Live | None:
    """What a driver says of a sweep, or said before it died; None if nobody works on it."""
    try:
        content = json.loads((folder / LIVE).read_text())
    except (OSError, ValueError):
        return None
    running = tuple(RunningTrial(**one) for one in content.pop("running"))
    return Live(**content, running=running)


def end_live(folder: Path) -> None:
    """Say that nobody works on a sweep any more."""
    for name in (LIVE, REQUESTS):
        (folder / name).unlink(missing_ok=True)


# What is asked of a driver


@dataclass(frozen=True)
class Request:
    """What somebody in another shell wants.

    Args:
        trial: the only one that is to stop; None for all.
        id: by which its answer is found.
    """

    action: Action
    trial: int | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


class Requests:
    """The requests to a driver, from its start on: what was asked of an earlier one is void."""

    def __init__(self, folder: Path) -> None:
        self._path, self._offset = folder / REQUESTS, 0
        self._path.write_bytes(b"")

    def new(self) -> Iterator[Request]:
        """Those that have come since the last time; half a line is read when it is whole."""
        try:
            with self._path.open("rb") as file:  # anew, so that a network file system looks
                file.seek(self._offset)
                lines = file.read()
        except OSError:
            return
        whole = lines[: lines.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.splitlines():
            yield Request(**json.loads(line))


def ask(folder: Path, action: Action, trial: int | None = None, patience: float = 60.0) -> str:
    """Ask the driver of a sweep, or of a folder of sweeps, for something; gives its answer.

    Raises:
        SweepError: nobody works on the sweep, or nobody answers.
    """
    folder = _driven(folder)
    live, request = read_live(folder), Request(action, trial)
    if live is None:
        finished = "it is finished" if open_ledger(folder).places else "--resume goes on with it"
        raise SweepError(f"{folder}: a driver must work on this sweep, but none does; {finished}.")
    if not live.is_fresh:
        raise SweepError(_silent(folder, live))
    with (folder / REQUESTS).open("ab") as file:
        file.write(json.dumps(asdict(request)).encode() + b"\n")
    end = time.monotonic() + patience
    while time.monotonic() < end:
        time.sleep(0.1)
        now = read_live(folder)
        if now is None:
            return "Its driver has ended."
        live = now
        if request.id in live.answers:
            return live.answers[request.id]
    raise SweepError(_silent(folder, live))


def _driven(folder: Path) -> Path:
    """The folder itself, or of a queue's the first one that a driver works on."""
    if (folder / JOURNAL).exists():
        return folder
    at_work = (path.parent for path in sorted(folder.glob(f"*/{LIVE}")))
    return next(at_work, folder)


def _silent(folder: Path, live: Live) -> str:
    return (
        f"{folder}: its driver ({live.driver}) must answer, but has given no sign of life for "
        f"{live.age:.0f} s; if it is dead, the command that started it goes on with --resume."
    )
