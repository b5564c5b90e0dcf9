"""Programs and webhooks that are told of a sweep, and what is said where that fails."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sweeper.config.settings import Notify
from sweeper.driver import messengers
from sweeper.driver.messengers import not_told, notify_faults
from tests.sweeper.hooks import hook, program, told_to_program
from tests.sweeper.servers import free_port
from tests.sweeper.sweeps import is_alive

MESSAGE = {"event": "end", "sweep": "quickstart"}
CONTENT = json.dumps(MESSAGE).encode()


def told(**settings: Any) -> list[str]:
    """What went wrong."""
    return list(not_told(Notify(**settings), CONTENT))


def test_a_program_reads_it_from_its_standard_input(tmp_path: Path) -> None:
    assert told(command=program(tmp_path)) == []
    assert told_to_program(tmp_path) == [MESSAGE]


def test_a_webhook_gets_it_as_json_by_post() -> None:
    with hook() as server:
        assert told(url=f"{server.uri}/sweeps") == []
    assert (server.paths, server.told) == (["/sweeps"], [MESSAGE])
    assert server.headers[0]["Content-Type"] == "application/json"


def test_both_are_told_where_both_are_there(tmp_path: Path) -> None:
    with hook() as server:
        assert told(url=server.uri, command=program(tmp_path)) == []
    assert server.told == told_to_program(tmp_path) == [MESSAGE]


def test_address_and_headers_are_filled_in_from_the_environment_as_it_is_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with hook() as server:
        notify = Notify(url="${MY_HOOK}/${MY_ROOM}", headers={"Authorization": "Bearer ${MY_KEY}"})
        monkeypatch.setenv("MY_HOOK", server.uri)
        for room in ("a", "b"):
            monkeypatch.setenv("MY_ROOM", room)
            monkeypatch.setenv("MY_KEY", f"key of {room}")
            assert list(not_told(notify, CONTENT)) == []
    assert server.paths == ["/a", "/b"]
    assert [one["Authorization"] for one in server.headers] == [
        "Bearer key of a",
        "Bearer key of b",
    ]


def test_a_failing_program_is_one_line(tmp_path: Path) -> None:
    (line,) = told(command=program(tmp_path, "sys.exit(3)"))
    assert line.endswith(": must end with 0, but ended with 3.")
    assert told(command=("/no/such/program",)) == [
        "sweep.notify.command: /no/such/program: must run, but: No such file or directory."
    ]


def test_a_program_that_does_not_end_is_killed_with_all_that_it_has_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messengers, "SECONDS", 0.5)
    child = "import subprocess; p = subprocess.Popen(['sleep', '60'])"
    noted = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid))"
    (line,) = told(command=program(tmp_path, f"{child}; {noted}; p.wait()"))
    assert line.endswith(": must end within 0.5 s, but did not, and was killed.")
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_alive(pid)


def test_a_failing_webhook_is_one_line_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_ROOM", "s3cr3t")
    with hook(status=404) as server:  # which repeats the address in its answer
        url = f"{server.uri}/${{MY_ROOM}}"
        assert told(url=url) == [f"sweep.notify.url: {url}: must take it, but: HTTP 404."]
    away = f"http://127.0.0.1:{free_port()}/${{MY_ROOM}}"
    assert told(url=away) == [
        f"sweep.notify.url: {away}: must take it, but: Connection refused.",
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "http://127.0.0.1:9/${MY_ROOM}"},
        {"url": "${MY_ROOM}"},
        {"url": "http://127.0.0.1:9/", "headers": {"Cookie": "${MY_ROOM}"}},
        {"url": "http://127.0.0.1:9/${NOT_SET}"},
    ],
)
def test_what_cannot_be_sent_at_all_is_one_line_without_secrets(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_ROOM", "s3cr3t\nin two lines")
    (line,) = told(**settings)
    assert "must take it, but: " in line and "s3cr3t" not in line


def test_nobody_is_followed_elsewhere_with_the_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cr3t")
    with hook() as other, hook(status=302, location=other.uri) as server:
        (line,) = told(url=server.uri, headers={"Authorization": "${MY_KEY}"})
    assert line.endswith("must take it, but: HTTP 302.")
    assert not other.told


def test_a_webhook_that_never_answers_has_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messengers, "SECONDS", 0.3)
    with hook() as server:
        server.hold = threading.Event()
        (line,) = told(url=server.uri)
        server.hold.set()
    assert line.endswith("must take it, but: TimeoutError.")


def test_what_would_keep_it_from_being_told_is_known_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_HOOK", "hooks.example.org")
    url, headers = "${MY_HOOK}", {"Authorization": "${MY_KEY}", "X": "${MY_KEY} ${my-key}"}
    assert list(notify_faults(Notify(url=url, headers=headers, command=("no-such-thing",)))) == [
        "sweep.notify: ${MY_KEY} must be set in the environment, but is not.",
        "sweep.notify: ${my-key} must be set in the environment, but is not.",
        "sweep.notify.command: no-such-thing: must be a program that can be run, but is not.",
    ]
    assert list(notify_faults(Notify(url=url))) == [
        "sweep.notify.url: ${MY_HOOK}: must begin with http:// or https://."
    ]
    assert list(notify_faults(Notify(url="https://a/${MY_HOOK}", command=("sh",)))) == []
    assert list(notify_faults(None)) == []
