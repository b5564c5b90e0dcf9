"""The two files beside a journal: what a driver says, and what it is asked."""

import time
from pathlib import Path
from typing import Any

import pytest

from sweeper.ledger.live import (
    LIVE,
    REQUESTS,
    Live,
    Request,
    Requests,
    RunningTrial,
    end_live,
    read_live,
    write_live,
)

TRIAL = RunningTrial("trial 2", "b=x", "task 2/5, epoch 3/9", 0.5, "node7 cuda", 5.0)


def live(**changes: Any) -> Live:
    told: dict[str, Any] = {
        "driver": "host, process 7",
        "state": "running",
        "stage": "search",
        "n_over": 2,
        "n_wanted": 4,
        "seconds_left": None,
        "running": (TRIAL,),
    }
    return Live(**{**told, **changes})


def test_what_is_written_is_read_and_nothing_else_is_left(tmp_path: Path) -> None:
    written = live(places=["report:  here"], answers={"id": "Paused."})
    write_live(tmp_path, live())
    write_live(tmp_path, written)
    assert read_live(tmp_path) == written
    assert [path.name for path in tmp_path.iterdir()] == [LIVE]


@pytest.mark.parametrize("content", [None, "", "{", "\x00"])
def test_what_cannot_be_read_says_that_nobody_is_at_work(
    tmp_path: Path, content: str | None
) -> None:
    if content is not None:
        (tmp_path / LIVE).write_text(content)
    assert read_live(tmp_path) is None


@pytest.mark.parametrize(("ago", "is_fresh"), [(0.0, True), (29.0, True), (31.0, False)])
def test_a_driver_that_has_been_silent_for_half_a_minute_is_not_fresh(
    ago: float, is_fresh: bool
) -> None:
    assert live(time=time.time() - ago).is_fresh is is_fresh


def test_a_clock_that_is_ahead_makes_no_negative_age() -> None:
    assert live(time=time.time() + 60).age == 0.0


def test_requests_are_given_once_and_in_order(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    with (tmp_path / REQUESTS).open("a") as file:
        file.write('{"action": "pause", "trial": null, "id": "1"}\n')
        file.write('{"action": "stop", "trial": 4, "id": "2"}\n')
    assert list(requests.new()) == [Request("pause", None, "1"), Request("stop", 4, "2")]
    assert list(requests.new()) == []


def test_a_folder_that_is_gone_asks_for_nothing(tmp_path: Path) -> None:
    requests = Requests(tmp_path)
    end_live(tmp_path)
    assert list(requests.new()) == []


def test_ending_twice_is_ending_once(tmp_path: Path) -> None:
    write_live(tmp_path, live())
    end_live(tmp_path)
    end_live(tmp_path)
    assert list(tmp_path.iterdir()) == []
