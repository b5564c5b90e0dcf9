"""Who is told how a sweep goes: a program, a webhook. What they know by `${NAME}` stays secret."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from http.client import HTTPException
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sweeper.config.settings import Notify

SECONDS = 10.0  # that each may take
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_WEB = ("http://", "https://")


def notify_faults(notify: Notify | None) -> Iterator[str]:
    """What would keep them from being told here."""
    if notify is None:
        return
    texts = [notify.url or "", *notify.headers.values()]
    names = dict.fromkeys(name for text in texts for name in _VARIABLE.findall(text))
    missing = [name for name in names if not os.environ.get(name)]
    for name in missing:
        yield f"sweep.notify: ${{{name}}} must be set in the environment, but is not."
    if notify.url and not missing and not _filled_in(notify.url).startswith(_WEB):
        yield f"sweep.notify.url: {notify.url}: must begin with http:// or https://."
    if notify.command and shutil.which(notify.command[0]) is None:
        program = notify.command[0]
        yield f"sweep.notify.command: {program}: must be a program that can be run, but is not."


def not_told(notify: Notify, content: bytes) -> Iterator[str]:
    """Tell all of them; gives why it did not come to one."""
    if notify.command and (why := _why_command(notify.command, content)):
        yield f"sweep.notify.command: {notify.command[0]}: {why}."
    if notify.url and (why := _why_webhook(notify, content)):
        yield f"sweep.notify.url: {notify.url}: {why}."


def _why_command(words: tuple[str, ...], content: bytes) -> str:
    """Run a program, in a process group of its own; gives what went wrong."""
    nowhere = subprocess.DEVNULL
    try:
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, start_new_session=True
        ) as process:
            try:
                process.communicate(content, SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return f"must end within {SECONDS:g} s, but did not, and was killed"
    except OSError as error:
        return f"must run, but: {error.strerror}"
    return f"must end with 0, but ended with {process.returncode}" if process.returncode else ""


class _Stay(HTTPRedirectHandler):
    """Follows nobody elsewhere: the headers are for this server alone."""

    def redirect_request(self, *_: object) -> None:
        """Take it for an error."""


def _why_webhook(notify: Notify, content: bytes) -> str:
    """Send a request; gives what went wrong, without what a server or an address may repeat."""
    try:
        headers = {name: _filled_in(value) for name, value in notify.headers.items()}
        headers = {"Content-Type": "application/json", "User-Agent": "sweeper", **headers}
        request = Request(_filled_in(notify.url or ""), content, headers, method="POST")
        build_opener(_Stay).open(request, timeout=SECONDS).close()
    except (OSError, HTTPException, ValueError, LookupError) as error:
        code = getattr(error, "code", None)
        cause = getattr(error, "reason", error)
        got = getattr(cause, "strerror", None) or type(cause).__name__
        return f"must take it, but: {f'HTTP {code}' if code else got}"
    return ""


def _filled_in(text: str) -> str:
    return _VARIABLE.sub(lambda found: os.environ[found[1]], text)
