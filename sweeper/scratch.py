"""Folders that a process works in, on the disk of its node."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "mpnet-scratch-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for a while; what processes that were killed have left goes first."""
    _remove_left_over()
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as folder:
        yield Path(folder)


def _remove_left_over() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process, _, _ = folder.name.removeprefix(_PREFIX).partition("-")
        if process.isdigit() and not process_lives(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def process_lives(process: int) -> bool:
    """Whether a process of this machine is there, whosever it is."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        pass
    return True
