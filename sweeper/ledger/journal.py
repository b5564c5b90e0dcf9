"""The file of a ledger: Optuna's journal, one line per fact, whole lines only."""

import errno
import logging
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock
from optuna.storages.journal import BaseJournalBackend

from sweeper.ledger.mending import (
    NEW_TRIAL,
    OF_OPEN_TRIALS,
    PLACE,
    Log,
    is_gap_before,
    line_of,
    log_of,
    mended,
)

_log = logging.getLogger(__name__)


class JournalFile(BaseJournalBackend):
    """Optuna's own format, which optuna-dashboard opens, with a lock that dies with its holder.

    Optuna's own lock outlives a kill, and its file cannot be read behind half a line.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, FileLock(f"{path}.lock")
        self._threads = threading.RLock()
        self._file: BinaryIO | None = None  # while several lines are written together
        self._is_urgent = False  # whether something in it must be on the disk at once
        self._n_trials = Counter[int]()  # that were given out, by study
        self.lost: list[str] = []  # by damage, in words
        self._start_over()

    def _start_over(self) -> None:
        self.n_read = self._offset = 0  # logs that were given out, and where the next begins
        self._n_trials.clear()

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """The whole lines from a number on; a line that is being written is not one yet."""
        if log_number_from != self.n_read:
            self._start_over()
        if self._n_bytes() <= self._offset:
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                log = log_of(line)
                if log is None or is_gap_before(log, self._n_trials):
                    yield from self._rest(log_number_from)
                    return
                yield from self._given(log, self._offset + len(line), log_number_from)

    def _n_bytes(self) -> int:
        try:
            return os.path.getsize(self._path)
        except FileNotFoundError:
            return 0

    def _given(self, log: Log, offset: int, log_number_from: int) -> Iterator[Log]:
        self.n_read, self._offset = self.n_read + 1, offset
        if log.get("op_code") == NEW_TRIAL:
            self._n_trials[log["study_id"]] += 1
        if self.n_read > log_number_from:
            yield log

    def _rest(self, log_number_from: int) -> Iterator[Log]:
        """What a damaged file has to say from here on."""
        lines = self._lines()
        logs, self.lost = mended(lines)
        for text in self.lost:
            _log.warning("%s: %s.", self._path, text)
        for log in logs[self.n_read :]:
            yield from self._given(log, self._offset, log_number_from)
        self._offset = sum(map(len, lines))

    def _lines(self) -> list[bytes]:
        with self._path.open("rb") as file:
            return [line for line in file if line.endswith(b"\n")]

    def mend(self) -> Path | None:
        """Write what is left of a damaged file in its place; gives the copy that was set aside."""
        if not self.lost:
            return None
        n_before = len(list(self._path.parent.glob(f"{self._path.name}.damaged*")))
        aside = self._path.with_name(f"{self._path.name}.damaged{n_before + 1}")
        part = self._path.with_name(f"{self._path.name}.part")
        with self._threads, self._lock:
            shutil.copy2(self._path, aside)
            logs, _ = mended(self._lines())
            with part.open("wb") as file:
                file.writelines(map(line_of, logs))
                file.flush()
                os.fsync(file.fileno())
                self._offset = file.tell()
            os.replace(part, self._path)
        self.lost = []
        return aside

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write lines for good, behind the last whole one."""
        text = b"".join(map(line_of, self._placed(logs)))
        with self.together() as file:
            file.write(text)
            file.flush()
            self._is_urgent |= any(log.get("op_code") not in OF_OPEN_TRIALS for log in logs)

    def _placed(self, logs: list[Log]) -> Iterator[Log]:
        """New trials know their places, so that one that is lost leaves a gap."""
        known = self._n_trials.copy()
        for log in logs:
            if log.get("op_code") == NEW_TRIAL:
                log = {**log, PLACE: [known.total(), known[log["study_id"]]]}
                known[log["study_id"]] += 1
            yield log

    @contextmanager
    def together(self) -> Iterator[BinaryIO]:
        """Wait for the disk at most once for all that is written in this context.

        An end is there when the context is left, with all before it. A beginning alone waits for
        nothing: it gets there with the next end, or when the system writes by itself.
        """
        with self._threads:
            if self._file is not None:
                yield self._file
                return
            if self.n_read and not self._path.exists():  # a lock would make the folder anew
                raise FileNotFoundError(errno.ENOENT, "the ledger is gone", str(self._path))
            with self._lock, self._path.open("ab+") as self._file:
                _drop_half_line(self._file)
                try:
                    yield self._file
                finally:
                    file, self._file = self._file, None
                    if self._is_urgent:
                        self._is_urgent = False
                        os.fsync(file.fileno())


def _drop_half_line(file: BinaryIO) -> None:
    """Remove what a writer that died, or had no space, left of a line."""
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        file.seek(end - 1)
        if file.read(1) == b"\n":
            break
        end -= 1
    if end < size:
        file.truncate(end)
    file.seek(0, os.SEEK_END)
