"""A run's whole state in one file, written so that a crash leaves the last good one."""

import os
import time
from pathlib import Path
from typing import Any

import torch

from mpnet.errors import CheckpointError

_VERSION = 1

State = dict[str, Any]


class Checkpoints:
    """The latest state of a run in a folder.

    Args:
        folder: made when needed; holds `checkpoint.pt`.
        every_epochs: how often to save within a task; 0 for at its end only.
        every_minutes: save sooner if this much time has passed.
    """

    def __init__(self, folder: Path, every_epochs: int = 10, every_minutes: float = 10.0) -> None:
        self.path = folder / "checkpoint.pt"
        self.every_epochs, self.every_minutes = every_epochs, every_minutes
        self._saved_at = time.monotonic()

    def is_due(self, epoch: int) -> bool:
        """Whether to save after this epoch of a task, counted from 0."""
        by_epochs = self.every_epochs > 0 and (epoch + 1) % self.every_epochs == 0
        return by_epochs or time.monotonic() - self._saved_at > 60 * self.every_minutes

    def save(self, state: State) -> None:
        """Replace the last state by this one, all or nothing."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        with part.open("wb") as file:
            torch.save({"version": _VERSION, **state}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)
        self._saved_at = time.monotonic()

    def load(self, identity: dict[str, str]) -> State | None:
        """The last state, or None if there is none.

        Args:
            identity: what must be the same for a run to go on: its configuration, its data.

        Raises:
            CheckpointError: the file is damaged or belongs to another run.
        """
        if not self.path.exists():
            return None
        try:
            state: State = torch.load(self.path, map_location="cpu", weights_only=True)
            version = state["version"]
        except Exception as error:  # torch raises a dozen kinds for a damaged file
            raise CheckpointError(
                f"{self.path}: must be a complete checkpoint, but cannot be read "
                f"({type(error).__name__}); delete it to start anew."
            ) from error
        if version != _VERSION:
            raise CheckpointError(
                f"{self.path}: version {_VERSION} must be there, but got {version}; "
                "delete it to start anew."
            )
        for name, mine in identity.items():
            if state["identity"].get(name) != mine:
                raise CheckpointError(
                    f"{self.path}: belongs to another {name}: must be {mine}, "
                    f"but got {state['identity'].get(name)}; delete it to start anew."
                )
        return state
