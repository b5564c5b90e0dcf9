"""The setting of the C library's allocator."""

import platform

from mpnet.allocator import keep_freed_memory


def test_glibc_accepts_the_setting_and_others_are_left_alone() -> None:
    assert keep_freed_memory() == (platform.libc_ver()[0] == "glibc")
