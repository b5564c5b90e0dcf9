"""Finished runs on scikit-learn's digits, trained once for all tests of a session."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mpnet.checkpoint import Checkpoints
from mpnet.continual import run
from mpnet.results import write_results
from tests.mpnet.conftest import digits_run

Folder = Callable[..., Path]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """From a method and a seed to the folder of a finished run."""
    root = tmp_path_factory.mktemp("runs")

    def made(name: str, seed: int = 0) -> Path:
        place = root / f"{name}-{seed}"
        if not place.exists():
            config = digits_run(name, seed=seed)
            with torch.random.fork_rng(devices=[]):
                results = run(config, checkpoints=Checkpoints(place, keeps_task_ends=True))
            write_results(place, config, results)
        return place

    return made
