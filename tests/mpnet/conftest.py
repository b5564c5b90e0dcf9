"""Small runs on scikit-learn's digits, shared by the suites."""

from typing import Any

import pytest

from mpnet.config import RunConfig, parse_run


def digits_run(name: str = "ft", /, **changes: Any) -> RunConfig:
    """Two epochs of a tiny network on the digits: about a second."""
    run: dict[str, Any] = {
        "network": {"name": "mlp", "hidden": [16]},
        "method": {"name": name},
        "training": {"epochs": 2, "batch_size": 100, "warmup_steps": 2, "learning_rate": 0.01},
        "device": "cpu",
    }
    return parse_run({**run, **changes})


@pytest.fixture
def small_run() -> RunConfig:
    """Fine-tuning on the digits."""
    return digits_run()
