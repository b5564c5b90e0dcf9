"""First tasks that were trained before: a run with the same one starts behind it, bit for bit.

A run's first task does not depend on what protects it afterwards, so all strengths of a method,
and all methods of one kind, share it. What is kept is the state after its training, before the
method remembers anything of it.
"""

import hashlib
import io
from pathlib import Path
from typing import Any

import torch

from mpnet.checkpoint import replace_file

State = dict[str, Any]


class FirstTasks:
    """A folder of trained first tasks, one file for each, named by what it was trained with.

    Several runs may use a folder at once. A file that is not whole is trained again.

    Attributes:
        taken: the file that the last run started from; None if it trained its first task itself.
        seconds_saved: what training it had taken.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.taken: Path | None = None
        self.seconds_saved = 0.0

    def load(self, identity: str) -> State | None:
        """The state after this first task, if it is there and whole."""
        path = self._path(identity)
        try:
            digest, _, content = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        if digest != _digest(content):
            return None
        state: State = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        self.taken, self.seconds_saved = path, state["seconds"]
        return state

    def save(self, identity: str, state: State) -> None:
        """Keep the state after this first task, all or nothing."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        content = buffer.getvalue()
        replace_file(self._path(identity), _digest(content) + b"\n" + content)

    def _path(self, identity: str) -> Path:
        return self.folder / f"{hashlib.sha256(identity.encode()).hexdigest()[:20]}.pt"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content).hexdigest().encode()
