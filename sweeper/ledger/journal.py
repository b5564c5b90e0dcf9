"""The file of a ledger: Optuna's journal, one line per fact, whole lines only."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock
from optuna.storages.journal import BaseJournalBackend


class JournalFile(BaseJournalBackend):
    """Optuna's own format, which optuna-dashboard opens, with a lock that dies with its holder.

    Optuna's own lock outlives a kill, and its file cannot be read behind half a line.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, FileLock(f"{path}.lock")
        self._threads = threading.RLock()
        self._file: BinaryIO | None = None  # while several lines are written together
        self._n_read = self._offset = 0  # lines that were given out, and where the next begins

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """The whole lines from a number on; a line that is being written is not one yet."""
        if log_number_from != self._n_read:
            self._n_read = self._offset = 0
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._n_read += 1
                self._offset += len(line)
                if self._n_read > log_number_from:
                    yield json.loads(line)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Write lines for good, behind the last whole one."""
        text = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs)
        with self.together() as file:
            file.write(text.encode())
            file.flush()

    @contextmanager
    def together(self) -> Iterator[BinaryIO]:
        """Wait for the disk once for all that is written in this context, not for every line."""
        with self._threads:
            if self._file is not None:
                yield self._file
                return
            with self._lock, self._path.open("ab+") as self._file:
                before = _drop_half_line(self._file)
                try:
                    yield self._file
                finally:
                    if self._file.tell() > before:
                        os.fsync(self._file.fileno())
                    self._file = None


def _drop_half_line(file: BinaryIO) -> int:
    """Remove what a writer that died, or had no space, left of a line; gives the size then."""
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        file.seek(end - 1)
        if file.read(1) == b"\n":
            break
        end -= 1
    if end < size:
        file.truncate(end)
    return file.seek(0, os.SEEK_END)
