"""What a process may use of its machine."""

import pytest
import torch

from mpnet.continual import run
from mpnet.machine import Precision, count_gpus, limit_threads, precision_of_products
from tests.mpnet.conftest import digits_run


def test_gpus_are_counted() -> None:
    assert count_gpus() == torch.cuda.device_count()


def test_threads_are_limited() -> None:
    before = torch.get_num_threads()
    try:
        limit_threads(before + 1)
        assert torch.get_num_threads() == before + 1
    finally:
        limit_threads(before)


@pytest.mark.parametrize(
    ("precision", "of_torch"), [("float32", "ieee"), ("tf32", "tf32"), ("bfloat16", "bf16")]
)
def test_a_precision_lasts_as_long_as_its_context(precision: Precision, of_torch: str) -> None:
    before = torch.backends.fp32_precision
    with pytest.raises(ZeroDivisionError), precision_of_products(precision):
        assert torch.backends.mkldnn.matmul.fp32_precision == of_torch
        assert torch.backends.mkldnn.conv.fp32_precision == of_torch
        raise ZeroDivisionError
    assert torch.backends.fp32_precision == before


def test_float32_is_set_too_since_convolutions_on_a_gpu_would_use_less() -> None:
    with precision_of_products("float32"):
        assert torch.backends.cudnn.conv.fp32_precision == "ieee"


def test_a_run_multiplies_as_it_asks_for() -> None:
    seen: list[str] = []
    config = digits_run("ft", training={"epochs": 1, "precision": "bfloat16"})
    run(config, on_epoch_end=lambda report: seen.append(torch.backends.fp32_precision))
    assert set(seen) == {"bf16"}
    assert torch.backends.fp32_precision != "bf16"
