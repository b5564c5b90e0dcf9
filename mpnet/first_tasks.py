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
        name: of the file of the last run's first task; None if it shares none.
        is_taken: whether that run started behind it, instead of training it.
        seconds: that training it took, whoever did.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name: str | None = None
        self.is_taken = False
        self.seconds = 0.0

    def load(self, identity: str) -> State | None:
        """The state after this first task, if it is there and whole."""
        self.name = _name(identity)
        digest, _, content = (self.read(self.name) or b"").partition(b"\n")
        self.is_taken = digest == _digest(content)
        if not self.is_taken:
            return None
        state: State = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        self.seconds = state["seconds"]
        return state

    def save(self, identity: str, state: State) -> None:
        """Keep the state after this first task, all or nothing."""
        self.name, self.is_taken, self.seconds = _name(identity), False, state["seconds"]
        buffer = io.BytesIO()
        torch.save(state, buffer)
        content = buffer.getvalue()
        self.write(self.name, _digest(content) + b"\n" + content)

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def write(self, name: str, content: bytes) -> None:
        """Leave a file, all or nothing."""
        replace_file(self.folder / name, content)


def _name(identity: str) -> str:
    return f"{hashlib.sha256(identity.encode()).hexdigest()[:20]}.pt"


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content).hexdigest().encode()
