"""What a process may use of its machine."""

import torch

from mpnet.machine import count_gpus, limit_threads


def test_gpus_are_counted() -> None:
    assert count_gpus() == torch.cuda.device_count()


def test_threads_are_limited() -> None:
    before = torch.get_num_threads()
    try:
        limit_threads(before + 1)
        assert torch.get_num_threads() == before + 1
    finally:
        limit_threads(before)
