"""What a process may use of its machine, and how exactly it multiplies there."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

OutOfMemory = torch.OutOfMemoryError  # on a GPU
Precision = Literal["float32", "tf32", "bfloat16"]
_AS_TORCH_SAYS: dict[Precision, str] = {"float32": "ieee", "tf32": "tf32", "bfloat16": "bf16"}


def count_gpus() -> int:
    """The number of GPUs that PyTorch can use here."""
    return torch.cuda.device_count()


def memory() -> int:
    """The bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def name_of(device: torch.device) -> str:
    """A device, for a person."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU"


def free_device_memory() -> None:
    """Give memory of GPUs back that nothing uses any more; PyTorch would keep it for later."""
    if torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()


def limit_threads(n_threads: int) -> None:
    """Let this process use so many CPU threads from now on, whatever its environment says."""
    torch.set_num_threads(n_threads)


@contextmanager
def precision_of_products(precision: Precision) -> Iterator[None]:
    """Multiply matrices and convolve so exactly in this context, on every device.

    Set for float32 too: left alone, PyTorch convolves with TF32 on a GPU.
    """
    backends: Any = torch.backends  # the attribute is not annotated
    before = backends.fp32_precision
    backends.fp32_precision = _AS_TORCH_SAYS[precision]
    try:
        yield
    finally:
        backends.fp32_precision = before
