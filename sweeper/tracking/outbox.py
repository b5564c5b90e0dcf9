"""What a run tells MLflow, as plain values, and the folder where it waits if MLflow is away."""

import base64
import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypedDict, final
from urllib.parse import quote

_log = logging.getLogger(__name__)

_LONGEST_TEXT = 6000  # characters; MLflow's limit for parameters, less than that for tags


@final
class Point(TypedDict):
    """A metric's value at a step, and when it was measured, in milliseconds since 1970."""

    key: str
    value: float
    step: int
    time: int


@final
class File(TypedDict):
    """An artifact; its content in base 64."""

    path: str
    content: str


Event = Point | File  # dictionaries that JSON takes as they are


@dataclass(frozen=True)
class Start:
    """What a run is found by or created with."""

    key: str
    name: str
    params: dict[str, str]
    tags: dict[str, str]
    time: int


@dataclass(frozen=True)
class End:
    """How and when a run ended."""

    status: str
    tags: dict[str, str]
    time: int


@dataclass(frozen=True)
class Record:
    """A run as far as MLflow has not got it."""

    start: Start
    events: list[Event]
    end: End


class Outbox:
    """Records that MLflow has not got, one file each; a file is never changed."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def add(self, record: Record) -> None:
        """Write a record, all or nothing."""
        self.folder.mkdir(exist_ok=True)  # not those above it: a disk may be gone
        path = self.folder / f"{quote(record.start.key, safe='')}@{record.end.time}.json"
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        with part.open("w", encoding="utf-8") as file:
            json.dump(asdict(record), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)

    def records(self, key: str | None = None) -> dict[Path, Record]:
        """The records, or those of one key; oldest first within a key."""
        pattern = "*@*.json" if key is None else f"{quote(key, safe='')}@*.json"
        read = ((path, _read(path)) for path in sorted(self.folder.glob(pattern)))
        return {path: record for path, record in read if record}


def _read(path: Path) -> Record | None:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Record(Start(**raw["start"]), raw["events"], End(**raw["end"]))
    except FileNotFoundError:  # delivered by somebody else just now
        return None
    except (ValueError, LookupError, TypeError) as error:
        aside = path.parent.with_name("outbox.damaged") / path.name
        aside.parent.mkdir(exist_ok=True)
        os.replace(path, aside)
        text = "%s: must be a record for MLflow, but is damaged (%s); it is set aside as %s."
        _log.warning(text, path, error, aside)
        return None


def now() -> int:
    """Milliseconds since 1970, as MLflow counts."""
    return time.time_ns() // 1_000_000


def metric_points(values: Mapping[str, float | None], step: int, at: int) -> list[Event]:
    """Metrics of one step as events; None is left out."""
    known = ((key, float(value)) for key, value in values.items() if value is not None)
    return [Point(key=key, value=value, step=int(step), time=at) for key, value in known]


def artifact_files(contents: Mapping[str, str | bytes]) -> list[File]:
    """Artifacts as events, by their path below the run."""
    return [_file(path, content) for path, content in contents.items()]


def _file(path: str, content: str | bytes) -> File:
    assert not path.startswith("/") and ".." not in path.split("/"), path
    raw = content.encode() if isinstance(content, str) else content
    return File(path=path, content=base64.b64encode(raw).decode("ascii"))


def flat(values: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    """Parameters or tags, nested ones under dotted names, as text that MLflow takes."""
    found: dict[str, str] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = str(value)[:_LONGEST_TEXT]
    return found
