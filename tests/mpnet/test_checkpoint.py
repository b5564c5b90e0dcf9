"""Checkpoints: all or nothing, and refused where they do not belong."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from mpnet.checkpoint import Checkpoints
from mpnet.continual import run
from mpnet.errors import CheckpointError
from tests.mpnet.conftest import digits_run

IDENTITY = {"configuration": "a", "data": "b"}


def _saved(folder: Path) -> Checkpoints:
    checkpoints = Checkpoints(folder)
    checkpoints.save({"identity": IDENTITY, "task": 1})
    return checkpoints


def test_without_a_file_there_is_nothing_to_load(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path).load(IDENTITY) is None


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    state = _saved(tmp_path / "new" / "folder").load(IDENTITY)
    assert state is not None
    assert state["task"] == 1


@pytest.mark.parametrize("n_bytes", [0, 10, 300])
def test_a_truncated_file_is_refused_with_a_reason(tmp_path: Path, n_bytes: int) -> None:
    checkpoints = _saved(tmp_path)
    checkpoints.path.write_bytes(checkpoints.path.read_bytes()[:n_bytes])
    with pytest.raises(CheckpointError, match="must be a complete checkpoint"):
        checkpoints.load(IDENTITY)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    torch.save({"version": 1, "run": os.system}, checkpoints.path)
    with pytest.raises(CheckpointError, match="must be a complete checkpoint"):
        checkpoints.load(IDENTITY)


@pytest.mark.parametrize("name", ["configuration", "data"])
def test_the_checkpoint_of_another_run_is_refused(tmp_path: Path, name: str) -> None:
    checkpoints = _saved(tmp_path)
    with pytest.raises(CheckpointError, match=f"belongs to another {name}"):
        checkpoints.load({**IDENTITY, name: "other"})


def test_another_seed_is_another_run(tmp_path: Path) -> None:
    run(digits_run(), checkpoints=Checkpoints(tmp_path))
    with pytest.raises(CheckpointError, match="belongs to another configuration"):
        run(digits_run(seed=1), checkpoints=Checkpoints(tmp_path))


def test_a_crash_in_mid_write_leaves_the_last_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = _saved(tmp_path)

    def crash(*args: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="no space"):
        checkpoints.save({"identity": IDENTITY, "task": 2})
    state = checkpoints.load(IDENTITY)
    assert state is not None
    assert state["task"] == 1


def test_saving_is_due_by_epochs_or_by_time(tmp_path: Path) -> None:
    by_epochs = Checkpoints(tmp_path, every_epochs=5)
    assert [by_epochs.is_due(epoch) for epoch in range(6)] == [False] * 4 + [True, False]
    assert Checkpoints(tmp_path, every_epochs=0, every_minutes=-1.0).is_due(0)
    assert not Checkpoints(tmp_path, every_epochs=0).is_due(4)


def test_a_state_from_before_selectivity_was_known_goes_on(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    expected = run(digits_run("lra"), checkpoints=checkpoints)
    state = torch.load(checkpoints.path, weights_only=True)
    del state["selectivity"]
    checkpoints.save(state)
    again = run(digits_run("lra"), checkpoints=checkpoints)
    np.testing.assert_array_equal(again.R, expected.R)
    assert again.selectivity == [None] * 5


SCRIPT = """
import json, sys
from pathlib import Path
from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig
from mpnet.continual import run
config = RunConfig.model_validate_json(sys.argv[1])
print(run(config, checkpoints=Checkpoints(Path(sys.argv[2]), every_epochs=1)).R.tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [3.5, 4.0, 5.0, 6.0])
def test_kill_9_at_any_moment_changes_nothing(tmp_path: Path, seconds: float) -> None:
    training = {"epochs": 10, "batch_size": 20, "warmup_steps": 2, "learning_rate": 0.01}
    config = digits_run("ppbi", training=training)
    command = [sys.executable, "-c", SCRIPT, config.model_dump_json(), str(tmp_path)]
    victim = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    resumed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    R = np.array(json.loads(resumed.replace("nan", "NaN")))
    np.testing.assert_array_equal(R, run(config).R)
