"""The files of docker/ by the judgement of their own tools, and what must hold between them."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
SCRIPTS = [*DOCKER.glob("*.sh"), *(ROOT / "tests" / "docker").glob("*.sh"), ROOT / "run"]
IN_FOREGROUND = ("tracking.sh", "head.sh", "worker.sh", "launch.sh")


def findings(name: str, *arguments: object) -> str:
    """What a tool of the environment has to say of files of the project; empty if nothing."""
    command = [Path(sys.executable).parent / name, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return f"exit code {done.returncode}: {done.stdout}{done.stderr}" if done.returncode else ""


def read(name: str) -> Any:
    return yaml.safe_load((DOCKER / name).read_text())


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def locked() -> dict[str, str]:
    lines = (DOCKER / "requirements.lock").read_text().splitlines()
    pins = [line.partition(" ;")[0].split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pins}


# Lint


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_pass_shellcheck(path: Path) -> None:
    assert findings("shellcheck", "--external-sources", path) == ""


def test_the_image_passes_hadolint() -> None:
    assert findings("hadolint", "docker/Dockerfile") == ""


@pytest.mark.parametrize("name", ["compose.yaml", "compose.gpu.yaml"])
def test_compose_files_follow_the_schema(name: str) -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")
    assert findings("check-jsonschema", *schema, DOCKER / name) == ""


def test_ray_takes_the_cluster_file() -> None:
    from jsonschema import ValidationError
    from ray.autoscaler._private.util import prepare_config, validate_config

    good, bad = prepare_config(read("cluster.yaml")), {"cluster_name": "without nodes"}
    validate_config(good)
    assert set(good["available_node_types"]) >= {good["head_node_type"]}
    with pytest.raises(ValidationError, match="provider"):
        validate_config(bad)


# The lock file


@pytest.mark.parametrize(
    "text", [*project()["dependencies"], *project()["optional-dependencies"]["cluster"]]
)
def test_the_lock_file_goes_with_what_the_project_needs(text: str) -> None:
    needed = Requirement(text)
    assert needed.specifier.contains(locked()[canonicalize_name(needed.name)])


def test_the_lock_file_names_no_place() -> None:
    text = (DOCKER / "requirements.lock").read_text()
    assert not re.search(r"://|index-url|find-links", text)


def test_kubernetes_is_told_the_version_of_ray_in_the_image() -> None:
    _, cluster, _ = yaml.safe_load_all((DOCKER / "kuberay.yaml").read_text())
    assert cluster["spec"]["rayVersion"] == locked()["ray"]


# What reaches machines


def test_what_is_copied_to_machines_is_there() -> None:
    mounts = read("cluster.yaml")["file_mounts"]
    sources = [source for source in mounts.values() if not source.startswith("~")]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    needed = {"pyproject.toml", project()["readme"], *project()["license-files"]}
    assert needed <= set(sources)


def test_what_is_copied_to_the_image_is_there_and_not_ignored() -> None:
    lines = (DOCKER / "Dockerfile").read_text().splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY") and "--" not in line]
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!").split("/")[0] for line in ignored if line.startswith("!")}
    names = [name for names in copied for name in names]
    assert [name for name in names if not list(ROOT.glob(name))] == []
    assert {name.split("/")[0].removesuffix("*") for name in names} == allowed


def test_code_and_dependencies_are_separate_layers_of_the_image() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    assert "# syntax=" not in text  # one more image to fetch, for nothing
    first, code, last = text.split("\nFROM ")[1:]
    assert "COPY mpnet" not in first
    assert "COPY mpnet" in code
    assert last.index("--from=dependencies /opt/venv") < last.index("--from=code")


def test_every_service_looks_after_itself_quickly_at_its_start() -> None:
    services = read("compose.yaml")["services"]
    checks = {name: service.get("healthcheck") for name, service in services.items()}
    own = {name for name, check in checks.items() if check and "start_interval" in check}
    assert own == {"database", "tracking"}
    assert "--start-interval=" in (DOCKER / "Dockerfile").read_text()  # head and worker


# Who can reach what


def test_secrets_are_asked_for_and_stand_in_no_file() -> None:
    services = read("compose.yaml")["services"]
    pairs = [pair for s in services.values() for pair in s.get("environment", {}).items()]
    secrets = {value for name, value in pairs if re.search("PASSWORD|TOKEN|SECRET", name)}
    asked = {match for value in secrets for match in re.findall(r"^\$\{(\w+):\?", value)}
    assert len(asked) == len(secrets)
    assert asked == set(re.findall(r"^(\w+)=$", (DOCKER / ".env.example").read_text(), re.M))


@pytest.mark.parametrize("name", ["database", "tracking", "head", "worker"])
def test_containers_have_no_capabilities(name: str) -> None:
    service = read("compose.yaml")["services"][name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", ["head", "worker"])
def test_the_object_store_fits_into_its_memory(name: str) -> None:
    service = read("compose.yaml")["services"][name]
    size = service["command"][-1].removeprefix("--object-store-memory=")
    assert service["shm_size"] == "1gb"
    assert int(size) < 0.95 * 1e9  # Ray wants some room


@pytest.mark.parametrize("script", ["head.sh", "worker.sh", "launch.sh"])
def test_a_data_folder_of_somebody_else_is_named(script: str) -> None:
    text = (DOCKER / "environment.sh").read_text() + "look_at_data"
    environment = {"PATH": os.environ["PATH"], "MPNET_DATA": "/usr"}
    user = 1000 if os.geteuid() == 0 else None
    command = ["bash", "-c", text, script]
    done = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, user=user
    )
    assert done.returncode == 0
    assert f"{script}: MPNET_DATA: /usr must be a folder that user" in done.stderr
    assert "user 0 (mode 755)'s" in done.stderr
    assert "chown --recursive" in done.stderr
    assert "\nlook_at_data\n" in (DOCKER / script).read_text()


def test_containers_are_published_to_this_machine_only() -> None:
    services = read("compose.yaml")["services"]
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_node_of_a_launched_cluster_asks_for_the_token() -> None:
    cluster = read("cluster.yaml")
    lines = [*cluster["head_start_ray_commands"], *cluster["worker_start_ray_commands"]]
    starts = [line for line in lines if "ray start" in line]
    assert len(starts) == 2
    assert all(line.startswith("RAY_AUTH_MODE=token ") for line in starts)
    assert "--dashboard-host=127.0.0.1" in starts[0]


@pytest.mark.parametrize("name", IN_FOREGROUND)
def test_a_script_says_all_that_it_must_be_told(name: str) -> None:
    path = Path(sys.executable).parent
    environment = {"PATH": f"{path}:/usr/bin:/bin"}
    done = subprocess.run([DOCKER / name], env=environment, capture_output=True, text=True)
    names = re.findall(r"^require (.*)$", (DOCKER / name).read_text(), re.M)[0]
    assert done.returncode == 2
    assert done.stderr.startswith(f"{name}: must be set in the environment, but is not: {names};")
