"""PostgreSQL and the scripts of docker/, as the containers run them but without containers."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.sweeper.servers import Process, free_port

EXPERIMENTS = "/api/2.0/mlflow/experiments/search?max_results=1"
ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
PASSWORD = secrets.token_hex(16)


def status(url: str, **headers: str) -> int:
    """What a request is answered."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return int(answer.status)
    except HTTPError as error:
        error.close()
        return error.code


def postgres_folder() -> Path:
    """Where the newest PostgreSQL has its programs; without one, the test is skipped."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("needs PostgreSQL (Debian: apt-get install postgresql)")
    return found[-1].parent


@contextmanager
def postgres() -> Iterator[dict[str, str]]:
    """A server with an empty database; gives what libpq must know."""
    programs, owner = postgres_folder(), "postgres" if os.geteuid() == 0 else None
    folder, port = Path(tempfile.mkdtemp(prefix="postgres-")), str(free_port())
    (folder / "password").write_text(PASSWORD)
    for path in (folder, folder / "password"):
        shutil.chown(path, owner or os.geteuid())

    def run(program: str, *arguments: str) -> None:
        subprocess.run([programs / program, *arguments], user=owner, cwd=folder, check=True)

    data, asked = str(folder / "data"), f"--pwfile={folder}/password"
    run("initdb", "-D", data, "-U", "mlflow", "-A", "scram-sha-256", "--no-sync", asked)
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    known = {"PGHOST": "127.0.0.1", "PGPORT": port, "PGUSER": "mlflow", "PGPASSWORD": PASSWORD}
    try:
        subprocess.run([programs / "createdb", "mlflow"], env={**os.environ, **known}, check=True)
        yield {**known, "PGDATABASE": "mlflow"}
    finally:
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


class Script(Process):
    """A script of docker/ with this environment's programs."""

    def __init__(self, name: str, folder: Path, environment: dict[str, str], *arguments: str):
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        variables = {"PYTHONPATH": str(ROOT), "PATH": path, **environment}
        super().__init__([str(DOCKER / name), *arguments], folder, variables)


@contextmanager
def tracking(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """MLflow by docker/tracking.sh; gives its URI and the variables of a client."""
    port = str(free_port())
    with postgres() as database:
        told = {
            "MLFLOW_AUTH_ADMIN_PASSWORD": PASSWORD,
            "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(16),
            "TRACKING_ARTIFACTS": str(folder / "artifacts"),
            "TRACKING_PORT": port,
        }
        server = Script("tracking.sh", folder, {**database, **told})
        server.start()
        try:
            server.wait_for(f"http://127.0.0.1:{port}/health")
            client = {"MLFLOW_TRACKING_USERNAME": "admin", "MLFLOW_TRACKING_PASSWORD": PASSWORD}
            yield f"http://127.0.0.1:{port}", client
        finally:
            server.stop(signal.SIGTERM)
