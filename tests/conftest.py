"""Fixtures for all tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

torch.set_num_threads(1)  # the suite runs in several processes
os.environ.pop("MPNET_RUN", None)  # printed commands do not depend on how the tests were started


@pytest.fixture(autouse=True)
def own_random_numbers() -> Iterator[None]:
    """Give every test the same random numbers and leave the process's own as they were."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


@pytest.fixture(scope="session")
def shared_data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root that starts empty."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(autouse=True)
def own_data_root(
    request: pytest.FixtureRequest, shared_data_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep tests away from the user's data, but for the slow ones, which need real files."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setenv("MPNET_DATA", str(shared_data_root))
