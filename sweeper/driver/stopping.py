"""Signals that end a launch: Ctrl-C, and what batch systems and `docker stop` send.

While trials run, the first one ends the queue in order. Before that, after that, and when it comes
again, a launch ends at once: what a kill leaves is what `--resume` goes on from.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from sweeper.errors import INTERRUPTED

_LIKE_CTRL_C = (signal.SIGTERM, signal.SIGHUP)
_STDERR = 2


@contextmanager
def signals_taken(folder: Path, again: str) -> Iterator[None]:
    """Let every such signal end this process, without a traceback and wherever it is.

    Args:
        folder: of the sweeps; what has begun there can be gone on with.
        again: the command that does.
    """

    def end_at_once(*_: object) -> None:
        has_begun = any(folder.glob("study.journal")) or any(folder.glob("*/study.journal"))
        hint = f"nothing is lost. Go on with:\n  {again}" if has_begun else "nothing had begun."
        # Not by way of a console, whose lock may be held by what is interrupted here.
        os.write(_STDERR, f"\nStopped at once; {hint}\n".encode())
        os._exit(INTERRUPTED)

    def as_ctrl_c(number: int, frame: FrameType | None) -> None:
        asked = signal.getsignal(signal.SIGINT)
        (asked if callable(asked) else end_at_once)(number, frame)

    with signals_kept():
        _take(signal.SIGINT, end_at_once)
        for number in _LIKE_CTRL_C:
            _take(number, as_ctrl_c)
        yield


def _take(number: signal.Signals, handler: Callable[[int, FrameType | None], None]) -> None:
    """Handle a signal, unless we were started to ignore it, as `nohup` does."""
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, handler)


@contextmanager
def signals_kept() -> Iterator[None]:
    """Put back who handles these signals: Ray and Tune take them and do not give them back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, *_LIKE_CTRL_C)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
