"""First tasks that the trials of a launch share, below its storage: every node sees them."""

from pathlib import Path
from typing import Any

from mpnet.first_tasks import FirstTasks
from sweeper.execution.storage import read_file, write_file


class SharedTasks(FirstTasks):
    """Trained first tasks in a folder or below a URI.

    Args:
        place: folder or URI.
    """

    def __init__(self, place: str) -> None:
        super().__init__(Path(place))
        self.place = place

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        return read_file(self.place, name)

    def write(self, name: str, content: bytes) -> None:
        """Leave a file, all or nothing."""
        write_file(self.place, name, content)

    @property
    def origin(self) -> dict[str, Any] | None:
        """Where the last run's first task comes from, as the ledger keeps it."""
        if self.name is None:
            return None
        return {"name": self.name, "is_taken": self.is_taken, "seconds": self.seconds}
