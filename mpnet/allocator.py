"""How the C library gives memory back, which decides how fast large tensors are on a CPU."""

import ctypes
import logging
import platform

_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # from malloc.h
_LARGEST = 2**31 - 1

logger = logging.getLogger(__name__)


def keep_freed_memory() -> bool:
    """Let this process reuse freed memory instead of returning it; says whether that could be set.

    glibc maps every large tensor anew, and the page faults of touching it cost more than the
    arithmetic: a ReLU over 100 MB took 46 ms instead of 8. Threads get no heap of their own: a
    process that ran trial after trial, each in its own thread, grew by 0.3 GB a trial of AlexNet.
    Only for processes that train on a CPU; a no-op elsewhere than with glibc.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = ((_M_MMAP_MAX, 0), (_M_TRIM_THRESHOLD, _LARGEST), (_M_ARENA_MAX, 1))
    accepted = [mallopt(name, value) for name, value in settings]
    logger.debug("mallopt answered %s", accepted)
    return all(accepted)
