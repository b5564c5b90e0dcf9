"""What a trial remembers and sums up; what it does with Tune is tested end to end."""

import errno
import json
from pathlib import Path

import pytest

from sweeper.execution.storage import MEMORY, STATE, is_whole, keep_state, restore
from sweeper.execution.trial import _advice, _mean, _Memory
from tests.sweeper.execution.assignments import trial


def remembered() -> _Memory:
    """One seed done, the next in training."""
    memory = _Memory()
    memory.finished = [{"seed": 4, "metrics": {"acc": 0.9}, "R": [[0.9, None], [0.8, 0.9]]}]
    memory.curve = [[1, 0.7, 0.5]]
    memory.latest |= {"score": 0.75, "step": 3}
    memory.seconds = 12.5
    memory.pending = [{"key": "epoch/loss", "value": 0.7, "step": 1, "time": 0}]
    return memory


@pytest.mark.parametrize("state", [None, b"weights"])
def test_what_a_trial_remembers_is_taken_up_by_the_one_that_goes_on(
    tmp_path: Path, state: bytes | None
) -> None:
    work, target, storage = tmp_path / "work", tmp_path / "target", tmp_path / "storage"
    work.mkdir(), target.mkdir()
    if state is not None:
        (work / STATE).write_bytes(state)
    remembered().write(work)
    assignment = trial()
    keep_state(work, str(storage / assignment.folder), 0)
    assert restore(str(storage), assignment.key, target)
    memory = _Memory()
    memory.read(target)
    assert vars(memory) == vars(remembered())


def test_a_memory_knows_the_state_that_it_was_written_beside(tmp_path: Path) -> None:
    (tmp_path / STATE).write_bytes(b"weights")
    remembered().write(tmp_path)
    assert is_whole(tmp_path)
    (tmp_path / STATE).write_bytes(b"weigh\0\0")
    assert not is_whole(tmp_path)


def test_a_new_trial_has_come_to_nothing_yet(tmp_path: Path) -> None:
    _Memory().write(tmp_path)
    written = json.loads((tmp_path / MEMORY).read_text())
    assert written["finished"] == written["curve"] == written["pending"] == []
    assert written["latest"]["step"] == 0


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "The storage is full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "The storage is full"),
        (
            OSError("[Errno 28] Error writing bytes: No space left on device"),
            "The storage is full",
        ),
        (OSError(errno.EROFS, "Read-only file system"), "The storage cannot be written"),
        (OSError(errno.EIO, "Input/output error"), "The storage cannot be written"),
        (OSError(errno.ENOENT, "No such file"), ""),
    ],
)
def test_a_disk_that_takes_nothing_is_nobodys_fault(error: OSError, advice: str) -> None:
    assert _advice(error).partition(";")[0] == advice


@pytest.mark.parametrize(
    ("values", "mean"), [([0.5, 1.0], 0.75), ([0.5, None], 0.5), ([None, None], None), ([], None)]
)
def test_a_mean_is_over_the_seeds_that_know_it(
    values: list[float | None], mean: float | None
) -> None:
    assert _mean(values) == mean
