"""What trials have saved, found by the key of their values: a folder or any URI.

Each attempt has a folder `<key>-<number>-<attempt>` of its own with its latest state, so that
nothing is ever written over.
"""

import errno
import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pyarrow import fs

from sweeper.waiting import answer_of

_ANSWER_SECONDS = 20.0  # of a storage elsewhere: its own clients would try for minutes
MEMORY = "trial.json"
STATE = "checkpoint.pt"
RUNS = "runs"  # what is kept of finished ones, below the storage
_DAMAGED = "damaged"  # what was set aside, below the storage
_LONGEST_REASON = 300  # of what a client of a storage says


def run_folder(key: str, seed: int) -> str:
    """The folder in which the finished run of one seed is kept."""
    return f"{key}-seed{seed}"


def storage_of(asked: str | None, folder: Path) -> str:
    """The place where a sweep's trials save: as asked for, by default in the sweep's folder."""
    if asked is None:
        return str(folder / "trials")
    return asked if "://" in asked else os.path.abspath(asked)


def below(place: str, *names: str) -> str:
    """A folder in a folder; the options of a URI, such as ?endpoint_override=..., stay behind."""
    path, mark, options = place.partition("?") if "://" in place else (place, "", "")
    return "/".join([path.rstrip("/"), *names]) + mark + options


def storage_fault(storage: str) -> str | None:
    """What is wrong with a storage, if anything; a small file is written and read.

    No folder is left that was not there before.
    """
    if "://" not in storage:
        found: str | None = _write_fault(storage)
    else:
        found = answer_of(lambda: _write_fault(storage), storage, _ANSWER_SECONDS)
    if found is None:
        must = f"{storage}: a place to write to must answer within {_ANSWER_SECONDS:g} s"
        return f"{must}, but does not; see whether it can be reached from here, or give another."
    return found or None


def _write_fault(storage: str) -> str:
    """Why nothing can be written and read there; empty if it can."""
    missing = [] if "://" in storage else _missing(Path(storage))
    try:
        name = mark(storage)
        is_same = is_marked(storage, name)
        unmark(storage, name)
    except Exception as error:  # each kind of storage has a client with errors of its own
        return f"{storage}: must be a place to write to, but {_reason(error)}; give another."
    finally:
        for folder in missing:
            with suppress(OSError):  # somebody uses it by now, or it could not be made
                folder.rmdir()
    return "" if is_same else f"{storage}: must give back what was written, but did not."


def _reason(error: Exception) -> str:
    """What an error says, in one line."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return (str(error).partition("\n")[0] or type(error).__name__)[:_LONGEST_REASON]


def _missing(folder: Path) -> list[Path]:
    """The folders that have to be made for this one, the innermost first."""
    return [path for path in (folder, *folder.parents) if not os.path.lexists(path)]


def mark(storage: str) -> str:
    """Leave a small file, by whose name others know that they see the same place."""
    name = f".probe-{uuid.uuid4().hex}"
    files, root = _open(storage)
    files.create_dir(root, recursive=True)
    with files.open_output_stream(f"{root}/{name}") as stream:
        stream.write(name.encode())
    return name


def is_marked(storage: str, name: str) -> bool:
    """Whether a mark is seen from here."""
    try:
        files, root = _open(storage)
        with files.open_input_stream(f"{root}/{name}") as stream:
            return bool(stream.read() == name.encode())
    except (OSError, ValueError, ImportError):
        return False


def unmark(storage: str, name: str) -> None:
    """Take a mark away."""
    files, root = _open(storage)
    files.delete_file(f"{root}/{name}")


def restore(storage: str, key: str, folder: Path) -> bool:
    """Copy the newest whole state of a configuration to a folder; False if there is none.

    What is no whole state does not stay in the folder.
    """
    is_found = any(_copy(storage, place, folder) for place in _states(storage, key))
    if not is_found:
        _clear(folder)
    return is_found


def keep_state(folder: Path, place: str, n_before: int) -> int:
    """Copy what a trial has saved to its place, beside the copy before it, which goes then.

    Args:
        folder: where it works.
        place: folder or URI of this attempt.
        n_before: copies that were made before; gives one more.

    Raises:
        OSError: the storage takes nothing, or is gone.
    """
    before = below(place, _state_name(n_before - 1)) if n_before else None
    if before and not is_folder(before):  # of a disk that is gone only the empty folder is left
        raise OSError(errno.ESTALE, "what was saved before is not there any more")
    copy_folder(str(folder), below(place, _state_name(n_before)))
    if before:
        delete_folder(before)
    return n_before + 1


def _state_name(n_before: int) -> str:
    return f"checkpoint_{n_before:06d}"


def set_aside_damaged(storage: str) -> Iterator[str]:
    """Move states whose memory is damaged out of the way of trials; gives lines that say so."""
    files, root = _open(storage)
    kept_aside = f"{root}/{_DAMAGED}"
    found = files.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    for path in (file.path for file in found if file.base_name == MEMORY):
        with files.open_input_stream(path) as stream:
            text = stream.read()
        if path.startswith(kept_aside) or _digest_in(text) is not None:
            continue
        place = path.removesuffix(f"/{MEMORY}")
        aside = f"{kept_aside}/{'-'.join(place.split('/')[-2:])}"
        files.create_dir(kept_aside, recursive=True)
        files.move(place, aside)
        yield (
            f"{path}: must be what a trial has saved, but is damaged; it is set aside in {aside}, "
            "and the trial goes on from an older state or begins anew."
        )


def forget(storage: str, key: str) -> None:
    """Delete the states of a configuration."""
    files, root = _open(storage)
    for path in _folders(files, root, f"{key}-"):
        files.delete_dir(path)


def read_file(place: str, name: str) -> bytes | None:
    """The content of a file below a folder or URI; None if there is none."""
    files, root = _open(place)
    try:
        with files.open_input_stream(f"{root}/{name}") as stream:
            return bytes(stream.read())
    except FileNotFoundError:
        return None


def write_file(place: str, name: str, content: bytes) -> None:
    """Leave a file below a folder or URI; whoever reads it meanwhile sees all of it or none."""
    files, root = _open(place)
    files.create_dir(root, recursive=True)
    part = f"{root}/{name}.{uuid.uuid4().hex}.part"
    with files.open_output_stream(part) as stream:
        stream.write(content)
    files.move(part, f"{root}/{name}")


def n_bytes(place: str) -> int:
    """The size of all files of a folder; 0 if there is none."""
    files, root = _open(place)
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True))
    return sum(file.size or 0 for file in found)


def delete_folder(place: str) -> None:
    """Remove a folder with all its files, if it is there."""
    files, root = _open(place)
    if files.get_file_info(root).type == fs.FileType.Directory:
        files.delete_dir(root)


def delete_file(place: str, name: str) -> int:
    """Remove a file below a folder or URI, if it is there; gives its size."""
    files, root = _open(place)
    found = files.get_file_info(f"{root}/{name}")
    if found.type == fs.FileType.File:
        files.delete_file(found.path)
    return found.size or 0


def copy_folder(source: str, target: str) -> None:
    """Copy a folder here or elsewhere to another place, over what may be there."""
    (files, start), (others, end) = _open(source), _open(target)
    others.create_dir(end, recursive=True)
    fs.copy_files(start, end, source_filesystem=files, destination_filesystem=others)


def is_folder(place: str) -> bool:
    """Whether there is a folder at a path or URI."""
    files, root = _open(place)
    return bool(files.get_file_info(root).type == fs.FileType.Directory)


def is_whole(folder: Path) -> bool:
    """Whether a state is as its writer left it, not what a death or a full disk left of it."""
    try:
        digest = _digest_in((folder / MEMORY).read_bytes())
    except OSError:
        return False
    return digest is not None and digest == digest_of_state(folder)


def _digest_in(memory: bytes) -> str | None:
    """The digest of the state beside a memory; None if the memory is damaged."""
    try:
        return str(json.loads(memory)["state"])
    except (ValueError, LookupError, TypeError):
        return None


def digest_of_state(folder: Path) -> str:
    """Digest of a saved run, empty between two. A size would not do: a full disk leaves holes."""
    path = folder / STATE
    if not path.exists():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def _open(storage: str) -> tuple[fs.FileSystem, str]:
    if "://" in storage:
        files, root = fs.FileSystem.from_uri(storage)
        return files, root
    return fs.LocalFileSystem(), os.path.abspath(storage)


def _states(storage: str, key: str) -> Iterator[str]:
    """The saved states of a configuration, newest first."""
    files, root = _open(storage)
    for folder in sorted(_folders(files, root, f"{key}-"), reverse=True):
        yield from sorted(_folders(files, folder, "checkpoint_"), reverse=True)


def _folders(files: fs.FileSystem, root: str, prefix: str) -> list[str]:
    found = files.get_file_info(fs.FileSelector(root, allow_not_found=True))
    is_folder = fs.FileType.Directory
    return [f.path for f in found if f.type == is_folder and f.base_name.startswith(prefix)]


def _copy(storage: str, place: str, folder: Path) -> bool:
    files, _ = _open(storage)
    _clear(folder)
    try:
        fs.copy_files(place, str(folder), source_filesystem=files)
    except OSError:  # deleted, or written, while we look: the next older one will do
        return False
    return is_whole(folder)


def _clear(folder: Path) -> None:
    for name in (STATE, MEMORY):
        (folder / name).unlink(missing_ok=True)
