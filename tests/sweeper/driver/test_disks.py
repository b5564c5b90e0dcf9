"""Disks that turn read-only or go away in mid-sweep, and come back: said, and nothing lost."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sweeper.sweeps import Command, assert_ledger_and_mlflow_agree, kill

pytestmark = pytest.mark.slow


def _mount(*words: object) -> None:
    """Mount something, where we may."""
    done = subprocess.run(["mount", *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs the right to mount: {done.stderr.strip()}")


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", folder], capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system in a file, which turns read-only at its first error, as most of them do."""
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(400 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    _mount("-o", "loop,errors=remount-ro", image, folder)
    yield folder
    _unmount(folder)


def _break(disk: Path) -> None:
    """Make the kernel believe in an error of the disk."""
    listed = subprocess.run(
        ["findmnt", "-n", "-o", "SOURCE", disk], capture_output=True, text=True
    )
    Path("/sys/fs/ext4", Path(listed.stdout.strip()).name, "trigger_fs_error").write_text("1")


def _mend(disk: Path) -> None:
    _unmount(disk)
    subprocess.run(["e2fsck", "-p", disk.with_name("image")], capture_output=True)
    _mount("-o", "loop", disk.with_name("image"), disk)


def _ended(process: "subprocess.Popen[str]") -> str:
    """What a launch has printed that could not go on: how to resume it, no traceback."""
    printed, _ = process.communicate(timeout=600)
    assert process.returncode in (2, 130), printed
    assert "--resume" in printed
    assert "Traceback" not in printed
    return printed


def _assert_nothing_is_lost(command: Command) -> None:
    command.run("--resume")
    assert len(command.finished()) == 3
    assert_ledger_and_mlflow_agree(command)


def test_a_disk_that_turns_read_only_is_said_and_nothing_is_lost(disk: Path) -> None:
    command = Command(disk, "run.epochs=40")
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    _break(disk)
    assert "Read-only file system" in _ended(process)
    _mend(disk)
    _assert_nothing_is_lost(command)


def test_a_disk_that_is_unplugged_and_comes_back_loses_nothing(tmp_path: Path) -> None:
    device, plug = tmp_path / "device", tmp_path / "plug"
    device.mkdir()
    plug.mkdir()
    _mount("--bind", device, plug)
    try:
        command = Command(plug, "run.epochs=40")
        process = command.start()
        command.wait_for(lambda: command.has_begun(0))
        _unmount(plug)
        printed = _ended(process)
        assert "must take what is written" in printed or "The storage is gone" in printed
        assert not list(plug.rglob("checkpoint_*"))  # nothing went to the disk below
        _mount("--bind", device, plug)
        _assert_nothing_is_lost(command)
    finally:
        _unmount(plug)


def test_data_that_cannot_be_written_are_read_nevertheless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(os.environ.get("MPNET_DATA", Path.home() / ".cache" / "mpnet")) / "MNIST"
    if not source.exists():
        pytest.skip("needs MNIST below MPNET_DATA")
    whole, folder = tmp_path / "whole", tmp_path / "data"
    shutil.copytree(source, whole / "MNIST")
    folder.mkdir()
    _mount("--bind", whole, folder)
    try:
        _mount("-o", "remount,bind,ro", folder)
        monkeypatch.setenv("MPNET_DATA", str(folder))
        overrides = ("run.benchmark={name: split_mnist}", "run.epochs=1", "sweep.trials=1")
        command = Command(tmp_path, *overrides, "run.training.batch_size=500", "select.seeds=1")
        printed = command.run()
        assert "Traceback" not in printed
        assert "decoded data are not kept for the next start" in printed
        assert "Read-only file system" in printed
        assert len(command.finished()) == 1
    finally:
        _unmount(folder)


@pytest.mark.parametrize("memory", [b"[]", b"", b'{"finished": ['])
def test_a_damaged_memory_of_a_trial_is_named_and_the_sweep_goes_on(
    tmp_path: Path, memory: bytes
) -> None:
    command = Command(tmp_path, "run.epochs=20", "sweep.trials=2", "select.seeds=1")
    process = command.start()
    command.wait_for(lambda: command.has_begun(0))
    kill(process.pid)
    process.communicate()
    saved = list((command.folder / "trials" / "search").glob("*/checkpoint_*/trial.json"))
    for path in saved:
        path.write_bytes(memory)
    printed = command.run("--resume")
    for path in saved:
        assert f"{path}: must be what a trial has saved, but is damaged" in printed
    assert len(list((command.folder / "trials" / "damaged").iterdir())) == len(saved) > 0
    assert "Traceback" not in printed
    assert len(command.finished()) == 2
    assert_ledger_and_mlflow_agree(command)
