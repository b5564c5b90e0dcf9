"""The file of a ledger: whole lines only, whoever writes and whoever dies."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import optuna
import pytest
from filelock import FileLock
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from sweeper.ledger import JOURNAL, Ledger
from sweeper.ledger.journal import JournalFile
from sweeper.ledger.mending import log_of
from sweeper.results.records import Rerun
from tests.sweeper.ledger.journals import lines_of
from tests.sweeper.ledgers import (
    BRANCHED,
    FLOATS,
    finish_all,
    opened,
    outcome,
    rerun_all,
    start,
    states,
    swept,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

ONE, TWO, THREE = ({"number": number} for number in (1, 2, 3))


@pytest.fixture
def journal(tmp_path: Path) -> JournalFile:
    return JournalFile(tmp_path / JOURNAL)


# Lines


def test_a_journal_that_is_not_there_yet_is_empty_and_is_not_made(tmp_path: Path) -> None:
    assert list(JournalFile(tmp_path / JOURNAL).read_logs(0)) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_lines_are_read_from_a_number_on(journal: JournalFile, first: int) -> None:
    journal.append_logs([ONE, TWO])
    journal.append_logs([THREE])
    assert list(journal.read_logs(first)) == [ONE, TWO, THREE][first:]


@pytest.mark.parametrize("order", [(0, 2, 0), (3, 1), (1, 0, 3)])
def test_lines_can_be_read_again_in_any_order(journal: JournalFile, order: tuple[int]) -> None:
    journal.append_logs([ONE, TWO, THREE])
    found = [list(journal.read_logs(first)) for first in order]
    assert found == [[ONE, TWO, THREE][first:] for first in order]


def test_what_another_one_appends_is_read_on(journal: JournalFile, tmp_path: Path) -> None:
    other = JournalFile(tmp_path / JOURNAL)
    journal.append_logs([ONE])
    assert list(other.read_logs(0)) == [ONE]
    journal.append_logs([TWO])
    assert list(other.read_logs(1)) == [TWO]
    other.append_logs([THREE])
    assert list(journal.read_logs(2)) == list(other.read_logs(2)) == [THREE]


def test_a_line_that_is_being_written_is_not_one_yet(journal: JournalFile, tmp_path: Path) -> None:
    journal.append_logs([ONE])
    with (tmp_path / JOURNAL).open("ab", buffering=0) as writer:
        writer.write(b'{"num')
        assert list(journal.read_logs(0)) == [ONE]
        writer.write(b'ber":2}\n')
        assert list(journal.read_logs(1)) == [TWO]


@pytest.mark.parametrize("half", [b"{", b'{"number":2}', b'{"text":"' + 9000 * b"a"])
@pytest.mark.parametrize("whole", [[], [ONE]], ids=["at the beginning", "behind a line"])
def test_half_a_line_is_dropped_by_the_next_writer(
    journal: JournalFile, tmp_path: Path, whole: list[Any], half: bytes
) -> None:
    journal.append_logs(whole)
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(half)
    assert list(journal.read_logs(0)) == whole
    journal.append_logs([THREE])
    assert list(map(log_of, lines_of(tmp_path))) == [*whole, THREE]
    assert list(journal.read_logs(len(whole))) == [THREE]


def test_a_sweep_goes_on_behind_half_a_line(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept())
    stage.finish(start(stage)[0], outcome(0.5))
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(b'{"op_code":5,"worker')
    again = opened(tmp_path, swept())
    again.finish(start(again)[0], outcome(0.6))
    assert all(map(json.loads, lines_of(tmp_path)))
    assert states(tmp_path) == ["finished", "finished"]


# The disk


class Disk:
    """Stands before the disk: says what it holds, and may keep writers waiting."""

    def __init__(self, folder: Path) -> None:
        self.path, self.n_bytes = folder / JOURNAL, 0
        self.is_awake = threading.Event()
        self.is_awake.set()
        self.error: OSError | None = None

    def fsync(self, _: int) -> None:
        assert self.is_awake.wait(10)
        if self.error:
            raise self.error
        self.n_bytes = self.path.stat().st_size


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(tmp_path)
    monkeypatch.setattr("os.fsync", disk.fsync)
    return disk


def test_a_trial_begins_without_waiting_for_the_disk_and_ends_when_it_is_there(
    disk: Disk, tmp_path: Path
) -> None:
    stage = opened(tmp_path, swept())
    disk.is_awake.clear()
    number, _ = start(stage)
    ending = threading.Thread(target=stage.finish, args=(number, outcome(0.5)))
    ending.start()
    ending.join(0.2)
    assert ending.is_alive()
    disk.is_awake.set()
    ending.join(10)
    assert disk.n_bytes == (tmp_path / JOURNAL).stat().st_size


def test_a_power_cut_takes_no_end_and_leaves_a_sweep_that_goes_on(
    disk: Disk, tmp_path: Path
) -> None:
    stage = opened(tmp_path, swept(FLOATS, trials=3))
    stage.finish(start(stage)[0], outcome(0.5))
    kept = disk.n_bytes
    start(stage)
    os.truncate(tmp_path / JOURNAL, kept)
    again = opened(tmp_path, swept(FLOATS, trials=3))
    assert states(tmp_path) == ["finished"]
    finish_all(again)
    assert states(tmp_path) == ["finished"] * 3


def test_a_disk_that_refuses_an_end_is_told_of_at_once(disk: Disk, tmp_path: Path) -> None:
    stage = opened(tmp_path, swept())
    disk.error = OSError(errno.EIO, "Input/output error")
    number, _ = start(stage)
    with pytest.raises(OSError, match="Input/output"):
        stage.finish(number, outcome(0.5))


# The lock

HOLD_THE_LOCK = """
import sys, time
from filelock import FileLock
FileLock(sys.argv[1]).acquire()
print("held", flush=True)
time.sleep(60)
"""


def test_a_line_is_not_written_while_another_one_writes(
    journal: JournalFile, tmp_path: Path
) -> None:
    writer = threading.Thread(target=journal.append_logs, args=([ONE],))
    with FileLock(tmp_path / f"{JOURNAL}.lock"):
        writer.start()
        writer.join(0.1)
        assert list(journal.read_logs(0)) == []
    writer.join()
    assert list(journal.read_logs(0)) == [ONE]


def test_a_lock_held_by_a_killed_process_does_not_block(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept())
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(tmp_path / f"{JOURNAL}.lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGKILL)
    began = time.monotonic()
    start(stage)
    assert time.monotonic() - began < 5


# Other readers


def test_a_ledger_sees_what_another_one_writes(tmp_path: Path) -> None:
    reader = Ledger(tmp_path)
    assert not reader.has_begun
    stage = opened(tmp_path, swept(FLOATS, trials=2))
    assert reader.has_begun
    number, values = start(stage)
    assert [(r.values, r.state) for r in reader.trial_records()] == [(values, "running")]
    stage.finish(number, outcome(0.5))
    assert [record.state for record in reader.trial_records()] == ["finished"]


def test_two_ledgers_that_write_see_the_same(tmp_path: Path) -> None:
    ledgers = [Ledger(tmp_path), Ledger(tmp_path)]
    ledgers[0].begin(swept())
    ledgers[1].places = ["here"]
    ledgers[0].bound_runs = [{"seed": 3}]
    assert [ledger.places for ledger in ledgers] == [["here"], ["here"]]
    assert [ledger.bound_runs for ledger in ledgers] == [[{"seed": 3}], [{"seed": 3}]]


def test_optuna_reads_the_file_with_its_own_means(tmp_path: Path) -> None:
    stage = opened(tmp_path, swept(BRANCHED))
    stage.fail(start(stage)[0], "diverged")
    done = finish_all(stage)
    ledger = Ledger(tmp_path)
    rerun_all(ledger.reruns([Rerun(1, 5), Rerun(2, 5)]))
    ledger.reruns([Rerun(3, 5)]).ask()
    storage = JournalStorage(JournalFileBackend(str(tmp_path / JOURNAL)))
    search = optuna.load_study(study_name="search", storage=storage)
    test = optuna.load_study(study_name="test", storage=storage)
    finished = search.get_trials(states=(TrialState.COMPLETE,))
    assert [trial.params for trial in finished] == done
    assert search.best_value == max(
        record.metrics.get("acc", 0) for record in ledger.trial_records()
    )
    assert [trial.params for trial in test.trials] == [
        {"configuration": configuration, "seed": 5} for configuration in (1, 2, 3)
    ]
    assert [trial.state.name for trial in test.trials] == ["COMPLETE", "COMPLETE", "RUNNING"]
