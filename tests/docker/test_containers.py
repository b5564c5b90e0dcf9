"""docker/compose.yaml as it is: built, up, a sweep with what can die in it, more workers, down.

By hand, where Docker is (`docker compose` on the PATH, DOCKER_HOST if it is elsewhere) and the
image `mpnet` is built; CONTRIBUTING.md says how. Tests build on each other, in this order.
"""

import json
import os
import re
import shutil
import subprocess
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docker.services import DOCKER, EXPERIMENTS, ROOT, status

pytestmark = pytest.mark.containers

_SECRETS = (
    "RAY_AUTH_TOKEN",
    "POSTGRES_PASSWORD",
    "MLFLOW_TRACKING_PASSWORD",
    "MLFLOW_FLASK_SERVER_SECRET_KEY",
)
_PATIENCE = 1800.0  # seconds: machines are busy
_MLFLOW, _DASHBOARD = "http://127.0.0.1:5000", "http://127.0.0.1:8265"
_LIST = f"{_MLFLOW}{EXPERIMENTS}"
_SWEEP = ("docker/launch.sh", "search_spaces/quickstart.yaml")


class Compose:
    """`docker compose` with secrets of its own and a project that is nobody else's."""

    def __init__(self, file: Path) -> None:
        self.secrets = {name: os.urandom(16).hex() for name in _SECRETS}
        told = {**self.secrets, "WORKERS": "2", "WORKER_CPUS": "1"}
        file.write_text("".join(f"{name}={value}\n" for name, value in told.items()))
        self.words = ["docker", "compose", "--env-file", str(file), "--project-name", "mpnet-test"]
        self.words += ["-f", str(DOCKER / "compose.yaml")]
        known = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG")
        self.options: dict[str, Any] = {
            "cwd": ROOT,
            "text": True,
            # The environment counts more than the file, and what is in it would change containers.
            "env": {name: os.environ[name] for name in known if name in os.environ},
        }

    def run(self, *words: str, code: int | None = 0) -> str:
        """To its end; gives what it printed."""
        command = [*self.words, *words]
        done = subprocess.run(command, capture_output=True, **self.options)
        printed = done.stdout + done.stderr
        assert code is None or done.returncode == code, f"{words}: {done.returncode}\n{printed}"
        return printed

    def up(self, *words: str) -> None:
        """Ray gives its nodes 30 s to start; on a busy machine they are started again."""
        for _ in range(5):
            printed = self.run("up", "--no-build", "--detach", "--wait", *words, code=None)
            if "is unhealthy" not in printed:
                break
        self.run("up", "--no-build", "--detach", "--wait", *words)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        """In the background."""
        out: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.Popen([*self.words, *words], **out, **self.options)

    def inside(self, service: str, *words: str) -> str:
        """In a container that runs."""
        return self.run("exec", "-T", service, *words)

    def containers(self, service: str) -> list[str]:
        """Those of a service that run."""
        return self.run("ps", "--quiet", service).split()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Until something can be seen."""
        end = time.monotonic() + _PATIENCE
        while not is_so():
            assert time.monotonic() < end, self.run("logs", "--tail", "20")
            time.sleep(2)


@pytest.fixture(scope="module")
def compose(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compose]:
    if not shutil.which("docker"):
        pytest.skip("needs Docker with compose on the PATH")
    if subprocess.run(["docker", "image", "inspect", "mpnet"], capture_output=True).returncode:
        pytest.skip("needs a daemon (DOCKER_HOST) that has the image mpnet; build it first")
    made = Compose(tmp_path_factory.mktemp("compose") / "env")
    try:
        made.up()
        yield made
    finally:
        made.run("down", "--volumes", "--timeout", "20")
    assert made.run("ps", "--all", "--quiet") == ""


def finished(compose: Compose, folder: str) -> tuple[int, int]:
    """How many trials have begun and how many have finished, by the ledger."""
    told = "import sys; from sweeper.ledger import Ledger; from pathlib import Path;"
    told += "f = Path(sys.argv[1]); t = Ledger(f).trial_records() if f.exists() else [];"
    told += "print(len(t), sum(r.state == 'finished' for r in t))"
    begun, done = compose.inside("head", "python", "-c", told, folder).split()[-2:]
    return int(begun), int(done)


# Who is who


@pytest.mark.parametrize(
    ("service", "user"), [("head", 1000), ("worker", 1000), ("tracking", 1000), ("database", 70)]
)
def test_containers_have_neither_root_nor_capabilities(
    compose: Compose, service: str, user: int
) -> None:
    text = compose.inside(service, "cat", "/proc/1/status")
    told = dict(re.findall(r"^(Uid|CapEff|CapPrm|CapBnd|NoNewPrivs):\t(\S+)", text, re.M))
    assert told["Uid"] == str(user)
    assert {int(told[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")} == {0}
    assert told["NoNewPrivs"] == "1"


def test_who_listens_where(compose: Compose) -> None:
    ports = {
        service: json.loads(compose.run("ps", "--format", "json", service).splitlines()[0])
        for service in ("head", "worker", "tracking", "database")
    }
    published = {
        (service, port["URL"], port["PublishedPort"])
        for service, told in ports.items()
        for port in told.get("Publishers") or ()
        if port["PublishedPort"]
    }
    assert published == {("head", "127.0.0.1", 8265), ("tracking", "127.0.0.1", 5000)}


def test_nobody_gets_in_without_a_word(compose: Compose) -> None:
    pair = f"admin:{compose.secrets['MLFLOW_TRACKING_PASSWORD']}"
    known = {"Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    wrong = {"Authorization": f"Basic {b64encode(b'admin:wrong').decode()}"}
    assert status(_LIST) == status(_LIST, **wrong) == 401
    assert status(_LIST, **known) == 200
    assert status(_LIST, **known, Host="evil.example") == 403
    jobs = f"{_DASHBOARD}/api/jobs/"
    assert status(jobs) == 401
    assert status(jobs, Authorization="Bearer wrong") == 403
    token = compose.secrets["RAY_AUTH_TOKEN"]
    assert status(jobs, Authorization=f"Bearer {token}") == 200


_WHO_ANSWERS = """
import glob, socket, sys, urllib.request
for name in ("tcp", "tcp6"):
    rows = [line.split() for line in open("/proc/net/" + name).read().splitlines()[1:]]
    for address, port in (row[1].split(":") for row in rows if row[3] == "0A"):
        host = socket.gethostbyname(socket.gethostname())
        if address.endswith(("0100007F", "0B00007F")):  # its own loop, Docker's name server
            continue
        for path in ("", "metrics"):
            try:
                urllib.request.urlopen(f"http://{host}:{int(port, 16)}/{path}", timeout=5).close()
                print(int(port, 16))
            except OSError:
                pass
            except Exception:  # it does not speak HTTP
                pass
"""


@pytest.mark.parametrize(("service", "ports"), [("head", {8265, 44217, 44227}), ("worker", set())])
def test_nothing_but_pages_and_counts_answers_without_a_token(
    compose: Compose, service: str, ports: set[int]
) -> None:
    printed = compose.inside(service, "python", "-c", _WHO_ANSWERS)
    assert {int(line) for line in printed.split()} == ports


def test_the_database_is_for_the_tracking_server_alone(compose: Compose) -> None:
    knock = "import socket; socket.create_connection(('database', 5432), 10)"
    compose.inside("tracking", "python", "-c", knock)
    refused = compose.run("exec", "-T", "head", "python", "-c", knock, code=1)
    assert "gaierror" in refused


@pytest.mark.parametrize("service", ["head", "worker"])
def test_the_object_store_is_in_memory(compose: Compose, service: str) -> None:
    assert "/dev/shm/plasma" in compose.inside(service, "sh", "-c", "cat /proc/[0-9]*/maps")
    log = compose.run("logs", service)
    assert "The object store is using /tmp instead of /dev/shm" not in log


def test_nobody_looks_for_the_makers_of_ray(compose: Compose) -> None:
    read = "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep REPORT_URL | sort --unique"
    told = compose.inside("head", "sh", "-c", read)
    assert told.split() == ["RAY_USAGE_STATS_REPORT_URL=http://127.0.0.1:9"]


def test_data_of_somebody_else_are_named(compose: Compose, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    mounted = ("run", "--rm", "--no-deps", "-T", "--volume", f"{tmp_path}:/data")
    printed = compose.run(*mounted, "head", "docker/launch.sh", "--help")
    assert "MPNET_DATA: /data must be a folder that user 1000 reads and writes" in printed
    assert "user 0 (mode 755)'s" in printed


# A sweep


def test_the_quickstart_runs_and_its_report_knows_the_commit(compose: Compose) -> None:
    printed = compose.inside("head", *_SWEEP)
    assert "Traceback" not in printed
    assert finished(compose, "sweeps/quickstart") == (8, 8)
    report = compose.inside("head", "cat", "sweeps/quickstart/report.md")
    commit = re.search(r"commit\W+([0-9a-f]{12}(?:-dirty)?)", report)
    assert commit, report[-2000:]
    runs = "select status, count(*) from runs group by 1"
    assert compose.inside("database", "psql", "-U", "mlflow", "-Atc", runs).split() == [
        "FINISHED|12"
    ]


def test_a_sweep_outlives_its_worker_its_tracking_server_and_its_database(
    compose: Compose,
) -> None:
    folder = "sweeps/hard"
    options = ("--output", folder, "run.training.epochs=30", "sweep.trials=6", "sweep.retries=3")
    sweep = compose.start("exec", "-T", "head", *_SWEEP, *options)
    compose.wait_for(lambda: finished(compose, folder)[0] >= 2)
    victim = compose.containers("worker")[0]
    subprocess.run(["docker", "kill", victim], check=True, capture_output=True)
    compose.run("restart", "tracking")
    (database,) = compose.containers("database")
    subprocess.run(["docker", "kill", database], check=True, capture_output=True)
    time.sleep(10)
    compose.up("--scale", "worker=3")
    assert len(compose.containers("worker")) == 3
    printed, _ = sweep.communicate(timeout=_PATIENCE)
    assert sweep.returncode == 0, printed
    assert "Traceback" not in printed
    assert finished(compose, folder) == (6, 6)
    states = "select status, count(*) from runs group by 1"
    found = compose.inside("database", "psql", "-U", "mlflow", "-Atc", states).split()
    assert [line for line in found if line.startswith("RUNNING")] == []


def test_another_password_is_named_at_the_start(compose: Compose, tmp_path: Path) -> None:
    changed = Compose(tmp_path / "env")
    kept = ("RAY_AUTH_TOKEN", "POSTGRES_PASSWORD", "MLFLOW_FLASK_SERVER_SECRET_KEY")
    told = {**changed.secrets, **{name: compose.secrets[name] for name in kept}}
    text = "".join(f"{name}={value}\n" for name, value in told.items())
    (tmp_path / "env").write_text(text)
    printed = changed.run("run", "--rm", "--no-deps", "-T", "tracking", code=2)
    assert "MLFLOW_TRACKING_PASSWORD must be the password of admin in the database" in printed
    assert "Traceback" not in printed
