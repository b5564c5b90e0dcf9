"""First tasks on disk: removed when nothing can need them any more, and not before."""

from pathlib import Path
from typing import Any

import pytest

from mpnet.config import RunConfig, parse_run
from sweeper.driver.active import ActiveSweep
from sweeper.driver.tidying import Tidying
from tests.sweeper.driver.queues import Queue, actives, swept
from tests.sweeper.ledgers import outcome

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk", "in_order")


def run_on(benchmark: str) -> RunConfig:
    return parse_run({"benchmark": {"name": benchmark}})


def launched(folder: Path, benchmarks: list[str], **settings: Any) -> list[ActiveSweep]:
    """Finished sweeps of one launch, each with a first task of its own on disk."""
    sweeps = [swept(f"s{i}", 1, {"top": 0}, **settings) for i in range(len(benchmarks))]
    found = list(actives(folder, *sweeps))
    (folder / "first_tasks").mkdir()
    for active, name in zip(found, benchmarks, strict=True):
        object.__setattr__(active.prepared, "configurations", [run_on(name)])
        object.__setattr__(active.prepared.opened, "launch_folder", folder)
        (folder / "first_tasks" / f"{active.sweep.name}.pt").write_bytes(b"x" * 1_000_000)
    queue = Queue(*found)
    for assignment in queue.all_now():
        name = f"s{assignment.sweep}.pt"
        shared = [{"name": name, "is_taken": False, "seconds": 1.0}]
        queue.ended(assignment, {"outcome": {**outcome(0.5), "first_tasks": shared}})
    return found


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "first_tasks").glob("*"))


def test_they_stay_as_long_as_a_sweep_with_the_same_benchmark_is_at_work(tmp_path: Path) -> None:
    first, second, other = launched(tmp_path, ["digits", "digits", "split_mnist"])
    tidying = Tidying([first, second, other])
    assert tidying.over(first) == ""
    assert left(tmp_path) == ["s0.pt", "s1.pt", "s2.pt"]
    text = tidying.over(second)
    assert text == "first tasks: 2.0 MB removed; sweep.keep_tasks=true keeps them"
    assert left(tmp_path) == ["s2.pt"]


def test_the_last_sweep_takes_the_folder_with_it(tmp_path: Path) -> None:
    (only,) = launched(tmp_path, ["digits"])
    (tmp_path / "first_tasks" / "of_a_failed_trial.pt").write_bytes(b"x" * 500_000)
    assert "1.5 MB" in Tidying([only]).over(only)
    assert not (tmp_path / "first_tasks").exists()


def test_in_a_storage_of_its_own_only_what_is_ours_is_removed(tmp_path: Path) -> None:
    (only,) = launched(tmp_path, ["digits"], storage=str(tmp_path))
    (tmp_path / "first_tasks" / "of_another_launch.pt").write_bytes(b"x")
    Tidying([only]).over(only)
    assert left(tmp_path) == ["of_another_launch.pt"]


@pytest.mark.parametrize("settings", [{"keep_tasks": True}, {"share_tasks": False}])
def test_they_can_be_kept(tmp_path: Path, settings: dict[str, bool]) -> None:
    (only,) = launched(tmp_path, ["digits"], **settings)
    assert Tidying([only]).over(only) == ""
    assert left(tmp_path) == ["s0.pt"]
