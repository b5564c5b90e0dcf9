"""What other processes do in the tests, kept apart so that they start without torch."""

import logging
import os
import signal
import sys
import types
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any

import numpy as np

Answer = tuple[int, list[int]]


def load_and_report(root: Path, answers: "Queue[Answer]") -> None:
    """Use a data set as any run does and tell what was in it."""
    _leave_out_the_rest_of_mpnet()
    from mpnet.datasets import load

    held = load("svhn", "train", root, may_be_partial=True)
    answers.put((int(held.images.sum()), held.labels.tolist()))


def die_while_writing(root: Path) -> None:
    """Be killed when the first hundred bytes of the decoded copy are on the disk."""
    _leave_out_the_rest_of_mpnet()
    from mpnet.datasets import load

    def half(stream: Any, array: Any, **_: Any) -> None:
        stream.write(array.tobytes()[:100])
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    np.save = half  # type: ignore[assignment]
    load("svhn", "train", root, may_be_partial=True)


def _leave_out_the_rest_of_mpnet() -> None:
    """Import mpnet.datasets without its neighbours, which bring torch and take seconds."""
    logging.disable()
    package = types.ModuleType("mpnet")
    package.__path__ = [str(Path(__file__).parents[3] / "mpnet")]
    sys.modules["mpnet"] = package
