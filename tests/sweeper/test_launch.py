"""launch.py as a plain script, copied to another machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.sweeper.sweeps import ROOT


def copied(home: Path, project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """launch.py as `ray submit` leaves it on a head node, and as it runs it there."""
    shutil.copy(ROOT / "sweeper" / "launch.py", home)
    environment = {"PATH": os.environ["PATH"], "MPNET_HOME": str(project)}
    command = [sys.executable, "launch.py", "search_spaces/quickstart.yaml", *arguments]
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)


def test_a_copy_runs_in_the_folder_of_the_project(tmp_path: Path) -> None:
    done = copied(tmp_path, ROOT, "sweep.trails=3")
    assert done.returncode == 2
    assert "quickstart.yaml" in done.stderr
    assert "did you mean 'trials'?" in done.stderr


def test_a_copy_without_the_project_says_where_it_must_be(tmp_path: Path) -> None:
    done = copied(tmp_path, tmp_path / "mpnet")
    assert done.returncode == 2
    assert done.stderr == (
        f"launch.py: the project must be in {tmp_path}/mpnet, but is not; set MPNET_HOME.\n"
    )
