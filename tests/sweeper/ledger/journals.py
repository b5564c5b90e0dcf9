"""Journals that end earlier than they did, as the death of a driver leaves them."""

from pathlib import Path

from sweeper.ledger import JOURNAL


def lines_of(folder: Path) -> list[bytes]:
    return (folder / JOURNAL).read_bytes().splitlines(keepends=True)


def drop_last_lines(folder: Path, n_lines: int = 1) -> None:
    """As if the driver had died before it wrote them."""
    (folder / JOURNAL).write_bytes(b"".join(lines_of(folder)[:-n_lines]))


def cut_everywhere(folder: Path) -> list[Path]:
    """A folder for each line after which the driver may have died."""
    lines, folders = lines_of(folder), []
    for n_lines in range(len(lines) + 1):
        folders.append(folder / str(n_lines))
        folders[-1].mkdir()
        (folders[-1] / JOURNAL).write_bytes(b"".join(lines[:n_lines]))
    return folders
