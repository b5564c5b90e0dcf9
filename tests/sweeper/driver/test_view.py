"""What a person sees of a queue while it runs, rendered to text."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sweeper.config.sweep import parse_sweep
from sweeper.driver.cluster import Share
from sweeper.driver.sweep_queue import SweepQueue
from sweeper.driver.view import View
from sweeper.execution.assignment import AnyAssignment
from tests.sweeper.ledgers import outcome
from tests.sweeper.studies import plain_sweep

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk", "in_order")
HOSTILE = "[red]no[/] [/bold] [Errno 2] :smile:"
SPACE = {"method.name": {"grid": ["lra", HOSTILE]}, "x": {"int": [1, 2]}}


def text_of(shown: Any, width: int = 140) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


class Shown(SweepQueue):
    """A queue and its view."""

    def __init__(
        self, folder: Path, *names: str, console: Console | None = None, class_orders: int = 0
    ) -> None:
        actives = []
        for place, name in enumerate(names or ("s",)):
            blocks = {
                "run": {},
                "space": SPACE,
                "sweep": {"sampler": "grid"},
                "select": {"seeds": 1, "class_orders": class_orders},
            }
            (folder / name).mkdir(exist_ok=True)
            sweep = parse_sweep(blocks, name)
            actives.append(plain_sweep(sweep, folder / name, Share(1, 0, 2), place))
        self.view = View(console or Console(width=140), actives, [10.0] * len(actives))
        super().__init__(actives, (2, 0), self.view, lambda _: None)

    def begin(self) -> AnyAssignment:
        assignment = self.next()
        assert assignment is not None
        return assignment

    def finish(self, acc: float) -> AnyAssignment:
        assignment = self.begin()
        self.ended(assignment, {"outcome": outcome(acc, -0.1)})
        return assignment


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    yield lambda: capsys.readouterr().out.splitlines()


def test_in_a_pipe_there_is_one_line_for_each_end(tmp_path: Path, lines: Any) -> None:
    queue = Shown(tmp_path)
    with queue.view:
        queue.finish(0.9)
        queue.ended(queue.begin(), {"failure": f"OSError: {HOSTILE}"})
    first, second = lines()
    head = "[search 1/4] trial 0 finished: ACC 90.00%  BWT -10.00%  method=lra  x=1  ("
    assert first.startswith(head)
    assert second.startswith(
        f"[search 2/4] trial 1 failed: OSError: {HOSTILE}  method=lra  x=2  ("
    )


def test_of_several_sweeps_each_line_says_which(tmp_path: Path, lines: Any) -> None:
    queue = Shown(tmp_path, "a", "b")
    with queue.view:
        for _ in range(4):
            queue.finish(0.9)
        queue.finish(0.9)
        queue.finish(0.8)
    found = lines()
    assert found[0].startswith("[a search 1/4] trial 0 finished")
    assert found[4].startswith("[a test 1/1] rerun of trial 0, seed 1 finished: ACC 90.00%")
    assert found[5].startswith("[b search 1/4] trial 0 finished: ACC 80.00%")


def test_a_rerun_on_an_unseen_class_order_says_which(tmp_path: Path, lines: Any) -> None:
    queue = Shown(tmp_path, class_orders=1)
    with queue.view:
        for _ in range(6):
            queue.finish(0.9)
    *_, tuned, unseen = lines()
    assert tuned.startswith("[test 1/2] rerun of trial 0, seed 1 finished")
    assert unseen.startswith("[test 2/2] rerun of trial 0, seed 1, class order 0 finished")


def test_a_crash_that_is_tried_again_says_so(tmp_path: Path, lines: Any) -> None:
    queue = Shown(tmp_path)
    with queue.view:
        queue.ended(queue.begin(), {"crash": "KeyError: 'x'"})
    (line,) = lines()
    assert line.startswith("[search 0/4] trial 0 interrupted: it is tried again")


def test_the_last_line_does_not_say_how_long_is_left(tmp_path: Path, lines: Any) -> None:
    queue = Shown(tmp_path)
    with queue.view:
        for acc in (0.1, 0.2, 0.3, 0.4, 0.5):
            queue.finish(acc)
    found = lines()
    assert "left" in found[-2]
    assert "left" not in found[-1]


def test_the_live_view_shows_counts_the_best_and_what_runs(tmp_path: Path) -> None:
    queue = Shown(tmp_path, console=Console(quiet=True))
    queue.finish(0.7)
    again = Shown(tmp_path, console=Console(quiet=True))  # another start
    assert "starting" in text_of(again.view)
    first = again.begin()
    assert "time left unknown yet" in text_of(again.view)
    again.ended(first, {"outcome": outcome(0.9, -0.1)})
    again.finish(0.8)
    running = again.begin()
    assert "starting" in text_of(again.view)
    place = {"task": 1, "n_tasks": 5, "epoch": 36, "n_epochs": 100}
    again.reported(running, {"step": 5, "score": 0.25, **place})
    text = text_of(again.view)
    assert "3/4 done, 1 running, 0 failed" in text
    assert "best so far: ACC 90.00%  BWT -10.00%  trial 1" in text
    assert "trial 3  task 2/5, epoch 37/100  ACC 25.00% so far  method=" in text
    assert HOSTILE in text


def test_the_live_view_of_a_queue_has_a_line_for_each_sweep_at_work(tmp_path: Path) -> None:
    queue = Shown(tmp_path, "a", "b", console=Console(quiet=True))
    for _ in range(3):
        queue.finish(0.7)
    queue.begin(), queue.begin()
    text = text_of(queue.view)
    assert "0 of 2 sweeps done" in text
    assert "a search" in text
    assert "b search" in text
    assert "b: no trial has finished yet" in text


def test_before_the_first_end_nothing_is_best(tmp_path: Path) -> None:
    queue = Shown(tmp_path)
    queue.begin()
    assert "no trial has finished yet" in text_of(queue.view)


def test_a_report_after_the_end_changes_nothing(tmp_path: Path) -> None:
    queue = Shown(tmp_path, console=Console(quiet=True))
    ended = queue.finish(0.5)
    before = text_of(queue.view)
    queue.reported(ended, {"step": 1})
    assert text_of(queue.view).split()[:4] == before.split()[:4]
    assert "starting" not in text_of(queue.view)


def test_the_live_view_tells_the_report_at_the_end_from_the_start(tmp_path: Path) -> None:
    queue = Shown(tmp_path, console=Console(quiet=True))
    assert text_of(queue.view).strip() == "starting"
    for _ in range(5):
        queue.finish(0.7)
    assert queue.is_over
    assert text_of(queue.view).strip() == "all is done, the report is being written"


def test_what_runs_takes_a_line_each_on_a_narrow_terminal(tmp_path: Path) -> None:
    queue = Shown(tmp_path, console=Console(quiet=True))
    queue.finish(0.7)
    for running in (queue.begin(), queue.begin()):
        queue.reported(running, {"step": 5, "score": 0.25, "task": 0, "epoch": 99})
    lines = text_of(queue.view, 80).splitlines()
    assert len(lines) == 4  # the counts, the best, two trials
    assert lines[-1].startswith("  trial 2  task 1/?, epoch 100/?  ACC 25.00% so far")
    assert max(map(len, lines)) <= 80


def test_on_a_terminal_a_failure_is_told_with_its_reason_as_it_happens(
    tmp_path: Path, lines: Any
) -> None:
    queue = Shown(tmp_path, console=Console(width=140, force_terminal=True, no_color=True))
    queue.finish(0.9)
    queue.ended(queue.begin(), {"failure": "Diverged: task 2"})
    (line,) = lines()
    assert "trial 1 failed: Diverged: task 2" in line
