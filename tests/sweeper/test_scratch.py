"""Folders of processes: gone with what they are for, or with the next one."""

import subprocess
import sys
from pathlib import Path

import pytest

from sweeper.scratch import scratch_folder

CODE = """
import time
from sweeper.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "checkpoint.pt").write_text("state")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_folder_goes_with_its_context() -> None:
    with scratch_folder() as folder:
        (folder / "file").touch()
    assert not folder.exists()


def test_what_a_killed_process_has_left_goes_with_the_next_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "mpnet-scratch-notes").mkdir()
    command = [sys.executable, "-c", CODE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        with scratch_folder():
            assert (left / "checkpoint.pt").exists()  # its process lives
        process.kill()
    with scratch_folder() as folder:
        assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "mpnet-scratch-notes", folder])
