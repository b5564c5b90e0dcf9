"""A run's whole state in one file, written so that a crash leaves the last good one."""

import io
import os
import time
from pathlib import Path
from typing import Any

import torch

from mpnet.errors import CheckpointError

_VERSION = 1

State = dict[str, Any]


class Checkpoints:
    """The latest state of a run in a folder and, if asked for, what it held after each task.

    Args:
        folder: made when needed; holds `checkpoint.pt` and `after_task_1.pt`, ...
        every_epochs: how often to save within a task; 0 for at its end only.
        every_minutes: save after any epoch if the last save is longer ago than this.
        keeps_task_ends: whether `keep` writes anything.
    """

    def __init__(
        self,
        folder: Path,
        every_epochs: int = 10,
        every_minutes: float = 10.0,
        keeps_task_ends: bool = False,
    ) -> None:
        self.path = folder / "checkpoint.pt"
        self.every_epochs, self.every_minutes = every_epochs, every_minutes
        self.keeps_task_ends = keeps_task_ends
        self._saved_at = time.monotonic()

    def is_due(self, epoch: int) -> bool:
        """Whether to save after this epoch of a task, counted from 0."""
        by_epochs = self.every_epochs > 0 and (epoch + 1) % self.every_epochs == 0
        return by_epochs or time.monotonic() - self._saved_at > 60 * self.every_minutes

    def save(self, state: State) -> None:
        """Replace the last state by this one, all or nothing."""
        _write(self.path, state)
        self._saved_at = time.monotonic()

    def load(self, identity: dict[str, str]) -> State | None:
        """The last state, or None if there is none.

        Args:
            identity: what must be the same for a run to go on: its configuration, its data.

        Raises:
            CheckpointError: the file is damaged or belongs to another run.
        """
        return _read(self.path, identity)

    def keep(self, t: int, state: State) -> None:
        """Write down what was so after task `t`, for those who look at the run later."""
        if self.keeps_task_ends:
            _write(self._after(t), state)

    def kept(self, t: int, identity: dict[str, str]) -> State | None:
        """What was kept after task `t`, or None.

        Raises:
            CheckpointError: as `load`.
        """
        return _read(self._after(t), identity)

    def delete(self) -> None:
        """Make room for another run."""
        for path in (self.path, *self.path.parent.glob("after_task_*.pt")):
            path.unlink(missing_ok=True)

    def _after(self, t: int) -> Path:
        return self.path.with_name(f"after_task_{t + 1}.pt")


def replace_file(path: Path, content: bytes | memoryview) -> None:
    """Write a file, all or nothing, whoever else does the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def _write(path: Path, state: State) -> None:
    buffer = io.BytesIO()
    torch.save({"version": _VERSION, **state}, buffer)
    replace_file(path, buffer.getbuffer())


def _read(path: Path, identity: dict[str, str]) -> State | None:
    if not path.exists():
        return None
    try:
        state: State = torch.load(path, map_location="cpu", weights_only=True)
        version = state["version"]
    except Exception as error:  # torch raises a dozen kinds for a damaged file
        raise CheckpointError(
            f"{path}: must be a complete checkpoint, but cannot be read "
            f"({type(error).__name__}); delete it to start anew."
        ) from error
    if version != _VERSION:
        raise CheckpointError(
            f"{path}: version {_VERSION} must be there, but got {version}; "
            "delete it to start anew."
        )
    for name, mine in identity.items():
        if state["identity"].get(name) != mine:
            raise CheckpointError(
                f"{path}: belongs to another {name}: must be {mine}, "
                f"but got {state['identity'].get(name)}; delete it to start anew."
            )
    return state
