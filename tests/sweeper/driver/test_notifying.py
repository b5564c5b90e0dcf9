"""What is told of a sweep: of its end, of a failure, that nothing moves; and to whom."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeper.driver import messengers, notifying
from sweeper.driver.active import ActiveSweep
from sweeper.driver.notifying import Notifier
from tests.sweeper.driver.queues import Queue, actives, swept
from tests.sweeper.hooks import Hook, hook, program, told_to_program
from tests.sweeper.sweeps import Command

AGAIN = "sweeper launch a.yaml --resume"


@pytest.fixture
def server() -> Iterator[Hook]:
    with hook() as found:
        yield found


class Told:
    """A notifier, and the lines that it has said."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.notifier = Notifier(AGAIN, self.lines.append)


def active(folder: Path, **notify: Any) -> ActiveSweep:
    """A sweep of two trials that has begun."""
    (found,) = actives(folder, swept("a", 2, notify=notify))
    return found


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_the_end_is_told_with_what_came_of_it(tmp_path: Path, server: Hook) -> None:
    sweep, told = active(tmp_path, url=server.uri), Told()
    queue = Queue(sweep)
    first, second = queue.all_now()
    queue.finish(first, 0.25)
    queue.ended(second, {"failure": "task 1: the loss became NaN"})
    told.notifier.ended(sweep, "finished")
    told.notifier.wait()
    assert server.told == [
        {
            "event": "end",
            "sweep": "a",
            "folder": str(tmp_path / "a"),
            "state": "finished",
            "reason": "",
            "text": "[finished] a: validation ACC 25.00%  BWT 0.00%  x=0",
            "trials": {"planned": 2, "finished": 1, "failed": 1},
            "best": {
                "trial": 0,
                "values": {"x": 0},
                "validation": {"acc": 0.25, "bwt": 0.0},
                "test": None,
            },
            "links": {},
            "resume": AGAIN,
        }
    ]
    assert told.lines == []


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_the_test_result_of_the_best_is_told(tmp_path: Path, server: Hook) -> None:
    sweep, told = active(tmp_path, url=server.uri), Told()
    queue = Queue(sweep)
    while given := queue.all_now():
        for assignment in given:
            queue.finish(assignment, 0.75)
    told.notifier.ended(sweep, "finished")
    told.notifier.wait()
    assert server.told[0]["best"]["test"] == {"acc": 0.75, "bwt": 0.0, "seeds": 2}


@pytest.mark.parametrize(
    ("state", "event"), [("finished", "end"), ("stopped", "end"), ("failed", "failure")]
)
def test_the_end_is_told_once_even_of_what_has_not_begun(
    tmp_path: Path, server: Hook, state: notifying.State, event: str
) -> None:
    sweep, told = active(tmp_path, url=server.uri), Told()
    told.notifier.ended(sweep, state, "Ray has died")
    told.notifier.ended(sweep, "failed")
    told.notifier.wait()
    (one,) = server.told
    assert (one["event"], one["state"], one["best"]) == (event, state, None)
    assert one["text"] == f"[{state}] a: Ray has died"


@pytest.mark.usefixtures("no_waiting_for_the_disk")
def test_silence_is_told_by_the_queue_not_for_every_trial(tmp_path: Path, server: Hook) -> None:
    sweep, told = active(tmp_path, url=server.uri), Told()
    queue = Queue(sweep)
    queue.on_silence = told.notifier.silent
    for assignment in queue.all_now():
        queue.silent(assignment, "no sign of life for 120 minutes")
    told.notifier.wait()
    (one,) = server.told
    assert (one["event"], one["state"]) == ("silence", "running")
    assert one["reason"] == "trial 0: no sign of life for 120 minutes"


def test_only_what_was_asked_for_is_told_and_to_each_sweep_s_own(
    tmp_path: Path, server: Hook
) -> None:
    one = {"url": f"{server.uri}/a", "events": ["failure"]}
    two = {"url": f"{server.uri}/b"}
    every = actives(tmp_path, swept("a", notify=one), swept("b", notify=two), swept("c"))
    told = Told()
    for sweep in every:
        told.notifier.ended(sweep, "finished")
    told.notifier.wait()
    assert server.paths == ["/b"]


def test_nobody_waits_for_what_is_told_but_at_the_end_for_some_time(
    tmp_path: Path, server: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messengers, "SECONDS", 0.3)
    server.hold = threading.Event()
    sweep, told = active(tmp_path, url=server.uri), Told()
    start = time.monotonic()
    told.notifier.ended(sweep, "finished")
    assert time.monotonic() - start < 0.2 and told.lines == []
    told.notifier.wait()
    server.hold.set()
    (line,) = told.lines
    assert line.startswith("a: sweep.notify.url: http") and line.endswith("TimeoutError.")


def test_a_ledger_that_cannot_be_read_is_a_line_too(tmp_path: Path, server: Hook) -> None:
    sweep, told = active(tmp_path, url=server.uri), Told()
    (tmp_path / "a" / "study.journal").mkdir()
    told.notifier.ended(sweep, "finished")
    told.notifier.wait()
    (line,) = told.lines
    assert line.startswith("a: sweep.notify: not told: ") and not server.told


# Real sweeps


def _let_tell(sweep: Command, **notify: Any) -> None:
    blocks = json.loads(sweep.file.read_text())
    blocks["sweep"]["notify"] = notify
    sweep.file.write_text(json.dumps(blocks))


@pytest.mark.slow
def test_a_sweep_tells_its_end_and_keeps_no_secret(
    tmp_path: Path, server: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "s3cr3t-of-mine")
    headers = {"Authorization": "Bearer ${MY_KEY}"}
    command = Command(tmp_path, "run.epochs=1")
    url = f"{server.uri}/${{MY_KEY}}"
    _let_tell(command, url=url, headers=headers, command=program(tmp_path, "sys.exit(3)"))
    printed = command.run()
    assert printed.count("sweep.notify") == 1, printed
    assert "must end with 0, but ended with 3." in printed
    assert server.paths == ["/s3cr3t-of-mine"]
    assert server.headers[0]["Authorization"] == "Bearer s3cr3t-of-mine"
    (told,) = server.told
    assert told_to_program(tmp_path) == [told]
    assert (told["event"], told["state"]) == ("end", "finished")
    assert told["trials"] == {"planned": 3, "finished": 3}
    (rerun, *_) = command.reruns()
    assert told["best"]["trial"] == rerun.rerun.configuration
    assert told["best"]["test"]["seeds"] == 2
    assert told["links"]["report"] == str(command.folder / "report.html")
    assert told["links"]["trials"] in printed
    assert told["resume"].endswith("--resume")
    kept = [path for path in command.folder.rglob("*") if path.is_file()]
    assert (command.folder / "study.journal") in kept
    assert not [path for path in kept if b"s3cr3t" in path.read_bytes()]
    assert "s3cr3t" not in printed


@pytest.mark.slow
def test_a_sweep_tells_that_it_was_stopped(tmp_path: Path, server: Hook) -> None:
    command = Command(tmp_path, "run.epochs=100")
    _let_tell(command, url=server.uri)
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 130, printed
    (told,) = server.told
    assert (told["event"], told["state"]) == ("end", "stopped")
    assert told["resume"] in printed


@pytest.mark.slow
def test_a_sweep_tells_why_it_came_to_nothing(tmp_path: Path, server: Hook) -> None:
    command = Command(tmp_path, "run.training.learning_rate=1e30")
    _let_tell(command, url=server.uri)
    command.run(code=1)
    (told,) = server.told
    assert (told["event"], told["state"]) == ("failure", "failed")
    assert "the loss must stay finite" in told["reason"]
    assert told["trials"] == {"planned": 3, "failed": 3} and told["best"] is None
