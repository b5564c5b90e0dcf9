"""Signs of life while a queue runs: of Ray, without which nothing moves, and of every trial."""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import ray
from ray.tune.experiment import Trial

_SECONDS = 5.0  # between two looks
_PATIENCE = 5.0  # for an answer; the kernel gives it, however busy the machine is

Door = tuple[str, str, int]  # whose it is, host, port


class RayWatch:
    """Knocks at the doors of Ray: asked itself, it would wait for a dead part of it for ever.

    Args:
        doors: those that answer now are watched.
    """

    def __init__(self, doors: Iterable[Door]) -> None:
        self._doors = [door for door in doors if _answers(door)]

    def loss(self) -> str:
        """What of Ray does not answer any more, in words; empty if all is well."""
        for door in self._doors:
            if not (_answers(door) or _answers(door)):
                whose, host, port = door
                return f"Ray has died: {whose} must answer at {host}:{port}, but does not."
        return ""

    @contextmanager
    def watching(self, on_loss: Callable[[str, threading.Event], None]) -> Iterator[None]:
        """Look every few seconds, from a thread of its own.

        Args:
            on_loss: is told what was lost, in that thread, and when this context is over.
        """
        over = threading.Event()

        def look() -> None:
            while not over.wait(_SECONDS):
                if text := self.loss():
                    on_loss(text, over)
                    return

        threading.Thread(target=look, name="watch", daemon=True).start()
        try:
            yield
        finally:
            over.set()


def ray_doors() -> Iterator[Door]:
    """The parts of Ray that this process needs: the head of the cluster, and its own node."""
    context = ray.get_runtime_context()
    host, _, port = context.gcs_address.rpartition(":")
    yield "the head of its cluster (GCS)", host, int(port)
    for node in ray.nodes():
        if node["NodeID"] == context.get_node_id():
            own = "its process on this machine (raylet)"
            yield own, node["NodeManagerAddress"], node["NodeManagerPort"]


def _answers(door: Door) -> bool:
    try:
        socket.create_connection(door[1:], _PATIENCE).close()
    except OSError:
        return False
    return True


class Lost(BaseException):
    """Ray is gone: a way out of Tune, which would wait for it."""


class Silence:
    """When each trial was last heard of, and who has been silent for too long.

    Args:
        limit: seconds that a trial may be silent.
    """

    def __init__(self, limit: Callable[[Trial], float]) -> None:
        self._limit = limit
        self._heard: dict[str, float] = {}
        self._next_look = 0.0

    def hear(self, trial: Trial) -> None:
        """It has begun, or says how far it is."""
        self._heard[trial.trial_id] = time.monotonic()

    def broken(self, trials: Sequence[Trial]) -> list[Trial]:
        """Those that nobody has heard of for too long; each is told again after as long."""
        now = time.monotonic()
        if now < self._next_look:
            return []
        self._next_look = now + _SECONDS
        alive = [trial for trial in trials if not trial.is_finished()]
        late = [t for t in alive if now - self._heard.setdefault(t.trial_id, now) > self._limit(t)]
        for trial in late:
            self.hear(trial)
        return late
