"""What a process may use of its machine."""

import torch


def count_gpus() -> int:
    """That PyTorch can use here."""
    return torch.cuda.device_count()


def limit_threads(n_threads: int) -> None:
    """CPU threads of this process from now on, whatever its environment says."""
    torch.set_num_threads(n_threads)
