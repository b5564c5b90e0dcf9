"""The file of a ledger: Optuna's journal, one line per fact, whole lines only."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock
from optuna.storages.journal import BaseJournalBackend


class JournalFile(BaseJournalBackend):
    """Optuna's own format, which optuna-dashboard opens, with a lock that dies with its holder.

    Optuna's own lock outlives a kill, and its file cannot be read behind half a line.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._n_read = self._offset = 0  # lines that were given out, and where the next begins

    def read_logs(self, log_number_from: int) -> Iterator[dict[str, Any]]:
        """All whole lines from a number on; a line that is being written is not one yet."""
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
        with FileLock(f"{self._path}.lock"), self._path.open("ab+") as file:
            _drop_half_line(file)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())


def _drop_half_line(file: BinaryIO) -> None:
    """What a writer that died or had no space left behind would spoil the next line too."""
    size = end = file.seek(0, os.SEEK_END)
    while end > 0:
        file.seek(end - 1)
        if file.read(1) == b"\n":
            break
        end -= 1
    if end < size:
        file.truncate(end)
    file.seek(0, os.SEEK_END)
