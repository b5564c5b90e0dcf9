"""An MLflow store, given by its URI: connect, check, and what its errors mean."""

import logging
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper.waiting import answer_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

_log = logging.getLogger(__name__)

_ARTIFACTS = "mlartifacts"
_ANSWER_SECONDS = 10.0
_LOCAL_SECONDS = 120.0  # a file has no network to be cut off from: only a busy machine is slow

# What MLflow's client does unless the user has said otherwise. An attempt lasts seconds, and is
# not repeated by the client itself: a run asked for twice would be two runs.
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_LOGGING_LEVEL": "WARNING",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}


def connect(uri: str) -> "MlflowClient":
    """A client of the store, without any of MLflow's global state."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient  # seconds, so only where somebody can wait for it

    # Its tracebacks of a store that does not answer: whoever asked says so in a line.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    return MlflowClient(uri)


def experiment_id(uri: str, name: str) -> str:
    """Find the experiment or create it, with the database and the folder if need be.

    Artifacts of an SQLite store go beside the database; MLflow's default is the current folder.
    """
    location = None
    if _is_sqlite(uri):
        folder = _sqlite_path(uri).parent
        folder.mkdir(parents=True, exist_ok=True)
        location = (folder / _ARTIFACTS).as_uri()
    client = connect(uri)
    found = client.get_experiment_by_name(name)
    if found is None:
        return client.create_experiment(name, artifact_location=location)
    if location and found.artifact_location != location:
        _follow_folder(_sqlite_path(uri), found.experiment_id, found.artifact_location, location)
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return found.experiment_id


def _follow_folder(path: Path, experiment: str, old: str, new: str) -> None:
    """Say where artifacts are now: MLflow keeps absolute paths, and has no call to change them."""
    if not old.endswith(f"/{_ARTIFACTS}"):  # not a place of ours
        return
    with closing(sqlite3.connect(path)) as database, database:
        change = "UPDATE experiments SET artifact_location = ? WHERE experiment_id = ?"
        database.execute(change, (new, experiment))
        change = (
            "UPDATE runs SET artifact_uri = ? || substr(artifact_uri, ?) WHERE experiment_id = ?"
        )
        is_below = " AND substr(artifact_uri, 1, ?) = ?"
        database.execute(change + is_below, (new, len(old) + 1, experiment, len(old), old))


def set_aside_damaged(uri: str) -> None:
    """Move a file that is no sound database any more out of the way of a new one."""
    path = _sqlite_path(uri)
    if not _is_sqlite(uri) or not path.exists() or _is_sound(path):
        return
    n_before = len(list(path.parent.glob(f"{path.name}.damaged*")))
    aside = path.rename(path.with_name(f"{path.name}.damaged{n_before + 1}"))
    _log.warning(
        "%s: must be a sound database, but is damaged; it is set aside as %s.", uri, aside
    )


def is_lost(uri: str) -> bool:
    """Whether a store was a file that is not there any more."""
    return _is_sqlite(uri) and not _sqlite_path(uri).exists()


def _is_sound(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path)) as database:
            return bool(database.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.OperationalError:  # locked, or not to be opened by us: another matter
        return True
    except sqlite3.DatabaseError:
        return False


def tracking_fault(uri: str) -> str | None:
    """Why the store cannot be used, or None; a server's silence is known within ten seconds."""
    if without_password(uri) != uri:
        # It would be kept with the sweep: in its ledger, in MLflow, in the report.
        return f"{without_password(uri)}: must come without user and password; {_CREDENTIALS}."
    if _is_sqlite(uri):
        wrong = _sqlite_fault(uri, _sqlite_path(uri))
        if wrong or not _sqlite_path(uri).exists():
            return wrong
    import mlflow  # noqa: F401 - these seconds are not the store's

    patience, advice = _ANSWER_SECONDS, _OTHER_STORE
    if _is_sqlite(uri):
        patience, advice = _LOCAL_SECONDS, _LESS_BUSY
    found = answer_of(lambda: _answer_fault(uri), without_password(uri), patience)
    if found is None:
        return _must_answer(uri, f"but does not within {patience:g} s", advice)
    return found or None


_LESS_BUSY = "try again when this machine and its disk are less busy"
_OTHER_STORE = "start the MLflow server or give another tracking URI"
_CREDENTIALS = (
    "set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN (for a "
    "database PGUSER and PGPASSWORD)"
)


def _answer_fault(uri: str) -> str:
    """Why a store does not answer as it should; empty if it does."""
    try:
        with plain_errors(uri):
            _ask(uri)
    except ConnectionError as error:
        return str(error)
    return ""


@contextmanager
def plain_errors(uri: str) -> Iterator[None]:
    """Turn whatever a store raises into an error that callers can name without MLflow."""
    try:
        yield
    except Exception as error:  # of MLflow, SQL, HTTP, missing drivers
        is_about_user = _http_status(error) in (401, 403)
        advice = _CREDENTIALS if is_about_user else _OTHER_STORE
        message = _must_answer(uri, f"but got {described(error)}", advice)
        raise ConnectionError(message) from error


def _ask(uri: str) -> None:
    if uri.startswith("http") or _is_sqlite(uri):
        connect(uri).search_experiments(max_results=1)
    else:
        import sqlalchemy  # MLflow would create its tables, for longer than we wait

        sqlalchemy.create_engine(uri).connect().close()


def _must_answer(uri: str, got: str, advice: str) -> str:
    return f"{without_password(uri)}: an MLflow store must answer, {got}; {advice}."


def _sqlite_fault(uri: str, path: Path) -> str | None:
    if not path.is_absolute():
        return f"{uri}: the path must be absolute, as in sqlite:////home/me/mlflow.db."
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        return f"{uri}: must be in a writable folder, but {folder} is not; give another one."
    if path.exists() and not os.access(path, os.W_OK):
        return f"{uri}: must be writable, but is not; change its permissions or give another one."
    return None


def _is_sqlite(uri: str) -> bool:
    return uri.startswith("sqlite:")


def _sqlite_path(uri: str) -> Path:
    return Path(uri.removeprefix("sqlite:///").partition("?")[0])


def is_refusal(error: Exception) -> bool:
    """Whether the store answered, and would answer the same again, as to wrong credentials."""
    return 400 <= _http_status(error) < 500 and _http_status(error) not in (408, 429)


def _http_status(error: Exception) -> int:
    """The HTTP status of an error, or MLflow's equivalent for one that never saw a network."""
    response = getattr(error, "response", None)
    if response is not None:
        return int(response.status_code)
    return int(getattr(error, "get_http_status_code", lambda: 500)())


def described(error: Exception) -> str:
    """An error in one line without secrets; of a connection, what the system says of it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionError | TimeoutError) and cause.strerror:
            return f"{type(cause).__name__}: {cause.strerror}"
        cause = cause.__cause__ or cause.__context__
    line = without_password(str(error)).strip().partition("\n")[0]
    return f"{type(error).__name__}: {line[:300].rstrip('.')}"


def without_password(text: str) -> str:
    """A URI, or a text with some, fit to be shown."""
    return re.sub(r"//[^/@\s]+@", "//", text)
