"""Downloads through torchvision: without a network they fail at once, and no half file stays."""

import http.client
import logging
import os
import shutil
import socket
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from mpnet.datasets._base import PARTS, Dataset, Part

_logger = logging.getLogger(__name__)

# Seconds until somebody must have answered, and until a started download counts as stalled.
ANSWER_TIMEOUT = 8.0
STALL_TIMEOUT = 20.0

_FAILURES = (
    EOFError,
    OSError,  # with URLError and time-outs
    RuntimeError,  # torchvision: wrong checksum, all mirrors failed
    http.client.HTTPException,
    tarfile.TarError,
    zipfile.BadZipFile,
)


def download(dataset: Dataset, root: Path, part: Part) -> None:
    """Bring the files of the first layout, or raise DataMissing."""
    if dataset.download is None:
        raise dataset.missing(root, part)
    if not _anybody_answers(dataset.download.urls):
        hosts = ", ".join(dataset.download.urls)
        raise dataset.missing(root, part, f"and no network: no answer from {hosts}")
    _logger.info("downloading data set '%s' to %s", dataset.name, root)
    try:
        with scratch(root / f".download-{dataset.name}") as folder, _stall_timeout():
            dataset.download.fetch(folder, part)
            _move(dataset, folder, root)
    except _FAILURES as error:
        raise dataset.missing(root, part, f"the download failed: {error}") from error
    if dataset.layout(root, part) is None:
        raise dataset.missing(root, part, "the download did not bring it")


def _anybody_answers(urls: tuple[str, ...]) -> bool:
    """Whether a host answers soon; in a thread, as looking up a name obeys no time-out."""
    answering: list[str] = []
    thread = Thread(target=lambda: answering.extend(filter(_answers, urls)), daemon=True)
    thread.start()
    thread.join(ANSWER_TIMEOUT)
    return bool(answering)


def _answers(url: str) -> bool:
    request = urllib.request.Request(url, method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT):
            return True
    except urllib.error.HTTPError as error:  # an answer, if not a kind one
        error.close()
        return True
    except (OSError, http.client.HTTPException):
        return False


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """An empty folder that is gone afterwards; the caller holds the lock of the data set."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _stall_timeout() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(STALL_TIMEOUT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _move(dataset: Dataset, folder: Path, root: Path) -> None:
    """Put what was brought and is not there yet into its place, each file or folder at once."""
    paths = {file.path for part in PARTS for file in dataset.layouts[0].files[part]}
    for path in sorted(paths):
        source, target = folder / path, root / path
        if source.exists() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(source, target)
