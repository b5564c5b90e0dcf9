"""Folders of the Ray that a launch starts, which Ray itself leaves for ever.

They hold its logs. They go when the launch ends in order, and with the next launch on this machine
where it was killed or Ray had died: until then somebody may want to read them.
"""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from sweeper.scratch import process_lives

_MARK = "mpnet-launch-"  # and the number of the process: Ray puts the same into its folder's name


def ray_place() -> Path:
    """Where Ray keeps its folders unless it is told otherwise."""
    return Path(os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), "ray").absolute()


def mark_ray_folders() -> None:
    """Say, before Ray starts, that its folders are of this launch; remove those of dead ones."""
    for mark in Path(tempfile.gettempdir()).glob(f"{_MARK}*"):
        process = mark.name.removeprefix(_MARK)
        if process.isdigit() and not process_lives(int(process)):
            _remove(mark)
    _mark().write_text(str(ray_place()))


def remove_ray_folders() -> None:
    """Remove those of this launch, if Ray was started by it."""
    if _mark().exists():
        _remove(_mark())


def _mark() -> Path:
    return Path(tempfile.gettempdir(), f"{_MARK}{os.getpid()}")


def _remove(mark: Path) -> None:
    with suppress(OSError):  # somebody else's
        place, process = Path(mark.read_text()), mark.name.removeprefix(_MARK)
        for folder in place.glob(f"session_*_{process}"):
            shutil.rmtree(folder)
        latest = place / "session_latest"
        if latest.is_symlink() and not latest.exists():
            latest.unlink()
        mark.unlink()
