"""Folders that Ray leaves: gone with the launch, or with the next one; without Ray itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sweeper.driver.ray_folders import mark_ray_folders, ray_place, remove_ray_folders

DEATH = """
import os
from sweeper.driver.ray_folders import mark_ray_folders
mark_ray_folders()
print(os.getpid(), flush=True)
os._exit(1)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Ray works."""
    for name in ("TMPDIR", "RAY_TMPDIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "ray").mkdir()
    return tmp_path / "ray"


def session(place: Path, process: object) -> Path:
    """A folder as Ray makes it."""
    made = place / f"session_2030-01-01_00-00-00_123456_{process}"
    (made / "logs").mkdir(parents=True)
    (made / "logs" / "gcs_server.out").write_text("started")
    latest = place / "session_latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(made)
    return made


def dead_launch() -> int:
    """The number of a process that started Ray and died."""
    done = subprocess.run([sys.executable, "-c", DEATH], capture_output=True, text=True)
    return int(done.stdout)


def test_ray_keeps_its_folders_where_it_would_by_itself() -> None:
    from ray._common.utils import get_default_ray_temp_dir

    assert str(ray_place()) == get_default_ray_temp_dir()


def test_folders_go_with_the_launch_and_nothing_else(place: Path) -> None:
    others = session(place, 1)
    mark_ray_folders()
    own = session(place, os.getpid())
    remove_ray_folders()
    assert (own.exists(), others.exists()) == (False, True)
    assert {path.name for path in place.iterdir()} == {others.name}
    assert list(place.parent.iterdir()) == [place]


def test_folders_of_a_dead_launch_go_with_the_next_one(place: Path) -> None:
    left = session(place, dead_launch())
    mark_ray_folders()
    assert not left.exists()
    assert [path.name for path in place.parent.glob("mpnet-*")] == [f"mpnet-launch-{os.getpid()}"]


def test_folders_of_a_launch_that_lives_stay(place: Path) -> None:
    mark_ray_folders()
    own = session(place, os.getpid())
    dead_launch()
    assert own.exists()


def test_a_launch_that_has_joined_a_cluster_removes_nothing(place: Path) -> None:
    own = session(place, os.getpid())
    remove_ray_folders()
    assert own.exists()
