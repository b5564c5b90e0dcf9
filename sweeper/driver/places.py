"""Where to look at sweeps, for the person who started them: from another machine too."""

import getpass
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sweeper import tracking
from sweeper.driver.preparation import PreparedSweep
from sweeper.ledger import JOURNAL
from sweeper.results.texts import shell_command
from sweeper.tracking import Tracking


class _Login(NamedTuple):
    """How somebody has come to this machine over SSH."""

    target: str
    port: str


def places_of(prepared: PreparedSweep, tracked: Tracking) -> list[str]:
    """Where to look at a sweep, from its first trial on."""
    folder = prepared.opened.folder
    return [
        f"report:  {_reached(folder / 'report.html')}",
        *_mlflow([prepared.uri]),
        *(f"{name}:  {link}" for name, link in tracking.ui_links(tracked).items()),
        f"Optuna:  {shell_command('optuna-dashboard', str(folder / JOURNAL))}",
    ]


def places_of_all(folder: Path, prepared: Sequence[PreparedSweep]) -> list[str]:
    """Where to look at the sweeps of a queue."""
    uris = list(dict.fromkeys(part.uri for part in prepared))
    return [f"reports: {_reached(folder.resolve() / '*' / 'report.html')}", *_mlflow(uris)]


def _mlflow(uris: Sequence[str]) -> list[str]:
    """What has to run for the links to open: a server where there is none, a tunnel to it."""
    commands = [tracking.ui_command(uri) for uri in uris]
    lines = [f"MLflow:  {shell_command(*command)}" for command in commands if command]
    login, ports = _login(), dict.fromkeys(filter(None, map(_local_port, uris)))
    if login and ports:
        forward = " ".join(f"-L {port}:127.0.0.1:{port}" for port in ports)
        ssh = f"ssh -N {forward} -p {login.port} {login.target}"
        lines.append(f"tunnel:  {ssh}   (on your own machine)")
    return lines


def _reached(path: Path) -> str:
    """A file as the user gets at it: MPNET_FETCH is a command that copies the path `{}`."""
    fetch, login = os.environ.get("MPNET_FETCH"), _login()
    if fetch:
        return fetch.replace("{}", str(path))
    return f"scp -P {login.port} '{login.target}:{path}' ." if login else str(path)


def _local_port(uri: str) -> str:
    """The port of a UI that only this machine reaches."""
    host, _, port = tracking.ui_base(uri).partition("//")[2].partition("/")[0].partition(":")
    return port if host in ("127.0.0.1", "localhost") else ""


def _login() -> _Login | None:
    """None for somebody who sits here; Ray's own connections do not count."""
    words = os.environ.get("SSH_CONNECTION", "").split()
    return _Login(f"{getpass.getuser()}@{words[2]}", words[3]) if len(words) == 4 else None
