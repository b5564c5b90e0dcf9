"""First tasks below a storage: whole or not at all, from wherever they are read."""

from pathlib import Path

import pytest
import torch

from sweeper.execution import storage
from sweeper.execution.shared_tasks import SharedTasks

STATE = {"method": {"weight": torch.arange(3.0)}, "seconds": 2.5}


@pytest.fixture(params=["folder", "uri"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return str(tmp_path / "shared") if request.param == "folder" else f"file://{tmp_path}/shared"


def test_what_one_worker_leaves_another_one_finds(place: str) -> None:
    writer, reader = SharedTasks(place), SharedTasks(place)
    assert reader.load("it") is None
    writer.save("it", STATE)
    assert writer.origin == {"name": writer.name, "is_taken": False, "seconds": 2.5}
    found = reader.load("it")
    assert found is not None
    assert torch.equal(found["method"]["weight"], STATE["method"]["weight"])  # type: ignore[index]
    assert reader.origin == {"name": writer.name, "is_taken": True, "seconds": 2.5}
    assert SharedTasks(place).load("another") is None


@pytest.mark.parametrize("n_kept", [0, 1, 100, 400])
def test_a_broken_one_is_no_first_task(place: str, n_kept: int) -> None:
    writer = SharedTasks(place)
    writer.save("it", STATE)
    assert writer.name is not None
    content = storage.read_file(place, writer.name)
    assert content is not None
    storage.write_file(place, writer.name, content[:n_kept])
    reader = SharedTasks(place)
    assert reader.load("it") is None
    assert not reader.is_taken


def test_a_flipped_bit_is_noticed(place: str) -> None:
    writer = SharedTasks(place)
    writer.save("it", STATE)
    assert writer.name is not None
    content = bytearray(storage.read_file(place, writer.name) or b"")
    content[-20] ^= 1
    storage.write_file(place, writer.name, bytes(content))
    assert SharedTasks(place).load("it") is None


def test_nothing_but_whole_files_is_left(place: str, tmp_path: Path) -> None:
    writer = SharedTasks(place)
    writer.save("it", STATE)
    writer.save("it", STATE)
    assert [path.name for path in (tmp_path / "shared").iterdir()] == [writer.name]
    assert storage.n_bytes(place) == (tmp_path / "shared" / str(writer.name)).stat().st_size


def test_a_run_without_a_first_task_to_share_has_no_origin(place: str) -> None:
    assert SharedTasks(place).origin is None


def test_files_and_folders_are_removed_if_they_are_there(place: str) -> None:
    storage.write_file(place, "a", b"12345")
    assert storage.delete_file(place, "a") == 5
    assert storage.delete_file(place, "a") == 0
    storage.delete_folder(place)
    assert storage.n_bytes(place) == 0
    storage.delete_folder(place)
