"""Fixtures for all tests."""

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def own_random_numbers() -> Iterator[None]:
    """Give every test the same random numbers and leave the process's own as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
