"""Folders that trials work in, on the disk of their node."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "mpnet-trial-"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for the time of a trial; what trials that were killed have left goes first."""
    _remove_left_over()
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as folder:
        yield Path(folder)


def _remove_left_over() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process, _, _ = folder.name.removeprefix(_PREFIX).partition("-")
        if process.isdigit() and not _is_alive(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        pass
    return True
