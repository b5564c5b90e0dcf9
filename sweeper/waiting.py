"""Waiting for somebody else's answer, with a word about it and an end."""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

_log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

_SECONDS_OF_SILENCE = 3.0


def answer_of(ask: Callable[[], Answer], whom: str, patience: float) -> Answer | None:
    """What an asking gives, or None if it takes longer than `patience` seconds.

    Args:
        ask: raises nothing; is left to itself where it takes too long.
        whom: of whom the answer is, for a person who waits for it.
        patience: in seconds.
    """
    found: list[Answer] = []
    thread = threading.Thread(target=lambda: found.append(ask()), daemon=True)
    thread.start()
    thread.join(min(patience, _SECONDS_OF_SILENCE))
    if thread.is_alive() and patience > _SECONDS_OF_SILENCE:
        _log.warning("waiting for %s to answer, for at most %g s", whom, patience)
        thread.join(patience - _SECONDS_OF_SILENCE)
    return found[0] if found else None
