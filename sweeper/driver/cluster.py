"""Ray: join a cluster or start it here, and what each trial gets of it."""

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import ray

from sweeper.config.settings import Resources
from sweeper.driver.ray_folders import mark_ray_folders, ray_place, remove_ray_folders
from sweeper.driver.stopping import signals_kept
from sweeper.errors import SweepError
from sweeper.results.texts import counted

_log = logging.getLogger(__name__)

_ATTEMPTS = 3
_QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
_ENVIRONMENT = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the ledger and MLflow hold what they would write
    "TUNE_GLOBAL_CHECKPOINT_S": "3600",  # never restored from: the ledger is
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AIR_NEW_OUTPUT": "0",  # it would print boxes of its own at verbose=0 too
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TUNE_WARN_EXCESSIVE_EXPERIMENT_CHECKPOINT_SYNC_THRESHOLD_S": "0",
}
_USABLE_MEMORY = 0.9  # of a GPU: allocators leave gaps, and evaluation takes a little more
_MOST_ON_A_GPU = 8


@dataclass(frozen=True)
class Share:
    """What each trial is given, and how many run at once.

    Args:
        can_grow: nodes may join, and then more run at once.
        reason: why so many share a GPU, for a person.
    """

    cpu: float
    gpu: float
    at_once: int
    can_grow: bool = False
    reason: str = ""

    @property
    def n_threads(self) -> int:
        """CPU threads of a trial."""
        return max(1, int(self.cpu))

    def roomier(self) -> "Share":
        """Half as many trials on each GPU; the same where one has it for itself, or needs none."""
        if not 0 < self.gpu < 1:
            return self
        before = _n_parts(1, self.gpu)
        n = max(1, before // 2)
        at_once = max(1, self.at_once * n // before)
        reason = "fewer than before: the memory of a GPU was too small for them"
        return replace(self, gpu=part_of_gpu(n), at_once=at_once, reason=reason)


@contextmanager
def left_as_found() -> Iterator[None]:
    """End the Ray that is started in this context; one that runs already goes on."""
    was_running = ray.is_initialized()
    try:
        yield
    finally:
        if not was_running:
            ray.shutdown()
            remove_ray_folders()


def connect(address: str | None, say: Callable[[str], None] = _log.warning) -> None:
    """Join a cluster, or start Ray on this machine alone; a second call changes nothing.

    Args:
        address: of the cluster.
        say: for what a person should know while it takes long.

    Raises:
        SweepError: there is no cluster, or one that we cannot join.
    """
    os.environ.update({name: os.environ.get(name, text) for name, text in _ENVIRONMENT.items()})
    if ray.is_initialized():
        return
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # the ledger has the reasons
    with signals_kept():
        if address is None:
            _start_here(say)
        else:
            _join(address)


def _start_here(say: Callable[[str], None]) -> None:
    """Start Ray; on a busy machine its own limit of 30 s may be too short."""
    mark_ray_folders()
    here: dict[str, Any] = {"include_dashboard": False, "_temp_dir": str(ray_place())}
    for n_left in reversed(range(_ATTEMPTS)):
        try:
            ray.init(address="local", **here, **_QUIET)
            return
        except Exception as error:  # a bare one, where one of its processes is late
            why = f"({str(error).strip().partition('. ')[0]})"
            busy = f"the load is {os.getloadavg()[0]:.0f} on {counted(os.cpu_count() or 1, 'CPU')}"
            if not n_left:
                text = f"Ray must start on this machine, but did not in {_ATTEMPTS} attempts"
                raise SweepError(f"{text} {why}; {busy}: try again when there is less.") from error
            say(f"Ray has not started in time {why}; {busy}. Trying again.")


def _join(address: str) -> None:
    try:
        _knock(address)
        ray.init(address=address, **_QUIET)
    except (OSError, RuntimeError, ValueError, ray.exceptions.AuthenticationError) as error:
        # RuntimeError: versions that do not match.
        token = "and take the token in RAY_AUTH_TOKEN or ~/.ray/auth_token"
        text = (
            f"--address, or RAY_ADDRESS: a Ray cluster must answer at {address}, {token}: {error}"
        )
        raise SweepError(text) from error


def _knock(address: str) -> None:
    """See whether anybody is there: Ray itself would try for a quarter of an hour."""
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) >= 2**16:
        raise ValueError("it must be HOST:PORT, ray://HOST:PORT or auto")
    socket.create_connection((host, int(port)), timeout=10).close()


def nodes() -> list[tuple[float, float]]:
    """CPUs and GPUs of every node that is alive."""
    alive = (node["Resources"] for node in ray.nodes() if node["Alive"])
    return [(resources.get("CPU", 0.0), resources.get("GPU", 0.0)) for resources in alive]


def part_of_gpu(n_trials: int) -> float:
    """A part of which so many fit on a GPU; Ray counts in ten-thousandths."""
    return 10_000 // n_trials / 10_000


def trials_per_gpu(memory: float, busy: float) -> int:
    """How many trials share a GPU, of which one takes these parts of its memory and its time.

    As many as its memory has room for, and no more than keep it busy: further ones would only
    wait for each other.
    """
    by_memory = _USABLE_MEMORY / max(memory, 1e-6)
    by_time = 1 / max(busy, 1e-6)
    return max(1, min(int(by_memory), round(by_time), _MOST_ON_A_GPU))


def share(
    asked: Resources,
    concurrency: int | None,
    machine: list[tuple[float, float]],
    n_per_gpu: int = 1,
) -> Share:
    """What a trial gets on these nodes.

    Args:
        asked: by the sweep.
        concurrency: most trials at once.
        machine: CPUs and GPUs of every node.
        n_per_gpu: trials that share a GPU where the sweep leaves it open.

    Raises:
        SweepError: no node has what a trial asks for, so that it would wait for ever.
    """
    if asked.cpu == 0 and asked.gpu == 0:
        raise SweepError(
            "sweep.resources: a trial must be given some CPU or GPU, but got 0 and 0."
        )
    if asked.gpu != "auto" and asked.gpu > 1:
        raise SweepError(
            "sweep.resources.gpu: at most 1 must be asked for, since a trial trains on one GPU "
            f"and others would stand idle, but got {asked.gpu:g}; with 1, or auto, trials run "
            "side by side on all of them."
        )
    n_gpus = sum(gpus for _, gpus in machine)
    auto = part_of_gpu(n_per_gpu) if n_gpus else 0.0
    gpu = auto if asked.gpu == "auto" else asked.gpu
    cpu = _auto_cpu(gpu, machine) if asked.cpu == "auto" else asked.cpu
    fits = sum(_n_fitting(cpu, gpu, *node) for node in machine)
    if fits == 0:
        have = "; ".join(amounts(*node) for node in machine)
        raise SweepError(
            f"sweep.resources: one node must have {amounts(cpu, gpu)} free, but there are {have}; "
            "ask for less, or `auto`."
        )
    return Share(cpu, gpu, min(fits, concurrency or fits))


def amounts(cpus: float, gpus: float) -> str:
    """What a trial gets, or a node has, in words."""
    return f"{counted(cpus, 'CPU')} and {counted(gpus, 'GPU')}"


def _auto_cpu(gpu: float, machine: list[tuple[float, float]]) -> float:
    """One, or beside a GPU the part of its node that falls to it."""
    with_gpu = [cpus * gpu // gpus for cpus, gpus in machine if gpu and gpus >= gpu]
    return max(1.0, min(with_gpu, default=1.0))


def _n_fitting(cpu: float, gpu: float, cpus: float, gpus: float) -> int:
    by_cpu = _n_parts(cpus, cpu) if cpu else 1_000
    if gpu and gpu < 1:
        return min(by_cpu, int(gpus) * _n_parts(1, gpu))
    return min(by_cpu, _n_parts(gpus, gpu) if gpu else by_cpu)


def _n_parts(whole: float, part: float) -> int:
    """Ten parts of 0.1 are a whole, whatever `1 // 0.1` says; Ray counts in ten-thousandths."""
    return round(whole * 10_000) // max(1, round(part * 10_000))
