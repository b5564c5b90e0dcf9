"""What a process may use of its machine."""

import torch


def count_gpus() -> int:
    """The number of GPUs that PyTorch can use here."""
    return torch.cuda.device_count()


def limit_threads(n_threads: int) -> None:
    """Let this process use so many CPU threads from now on, whatever its environment says."""
    torch.set_num_threads(n_threads)
