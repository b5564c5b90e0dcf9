"""How the C library gives memory back, which decides how fast large tensors are on a CPU."""

import ctypes
import logging
import platform

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # from malloc.h
_LARGEST = 2**31 - 1

logger = logging.getLogger(__name__)


def keep_freed_memory() -> bool:
    """Let this process reuse freed memory instead of returning it; says whether that could be set.

    glibc maps every large tensor anew, and the page faults of touching it cost more than the
    arithmetic: a ReLU over 100 MB took 46 ms instead of 8. Only for processes that train on a CPU;
    a no-op elsewhere than with glibc.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    accepted = [mallopt(_M_MMAP_MAX, 0), mallopt(_M_TRIM_THRESHOLD, _LARGEST)]
    logger.debug("mallopt answered %s", accepted)
    return all(accepted)
