"""The decoded copy: made once, shared, never half, and made again if it is damaged."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mpnet.datasets import Images, data_root, dataset
from mpnet.datasets._loading import decoded_copy
from mpnet.errors import ConfigError
from tests.mpnet.datasets import children
from tests.mpnet.datasets.conftest import load_partial as load
from tests.mpnet.datasets.conftest import random_images, write_svhn

EXPECTED = random_images(30, 3, 32, 32)
IMAGES, LABELS = "svhn-train-v1-images.npy", "svhn-train-v1-labels.npy"
SOURCES = "svhn-train-v1-sources.txt"


def assert_equal(got: Images, expected: Images) -> None:
    np.testing.assert_array_equal(got.images, expected.images)
    np.testing.assert_array_equal(got.labels, expected.labels)


def names(root: Path) -> set[str]:
    return {path.name for path in (root / "decoded").iterdir()}


# Where


def test_the_chosen_root_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPNET_DATA", "/from/environment")
    assert data_root("/chosen") == Path("/chosen")
    assert data_root(None) == Path("/from/environment")


def test_the_root_is_in_the_home_folder_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MPNET_DATA", raising=False)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert data_root() == Path("/home/somebody/.cache/mpnet")


def test_load_follows_the_environment(svhn_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPNET_DATA", str(svhn_root))
    assert_equal(load("svhn", "train"), EXPECTED)


@pytest.mark.parametrize(
    ("name", "part", "hint"),
    [("svnh", "train", "did you mean 'svhn'?"), ("svhn", "trian", "'train' or 'test'")],
)
def test_a_wrong_name_is_a_configuration_error(
    name: str, part: Any, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=hint.replace("?", r"\?")):
        load(name, part, tmp_path)


# What


def test_the_first_and_the_second_use_give_the_same(svhn_root: Path) -> None:
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)


def test_parts_are_kept_apart(svhn_root: Path) -> None:
    load("svhn", "train", svhn_root)
    assert_equal(load("svhn", "test", svhn_root), random_images(20, 3, 32, 32, seed=1))


def test_arrays_are_mapped_and_torch_takes_them_without_a_warning(svhn_root: Path) -> None:
    held = load("svhn", "train", svhn_root)
    assert isinstance(held.images, np.memmap) and isinstance(held.labels, np.memmap)
    assert torch.from_numpy(held.images).dtype == torch.uint8
    assert torch.from_numpy(held.labels).dtype == torch.int64


def test_writing_to_the_arrays_changes_no_file(svhn_root: Path) -> None:
    held = load("svhn", "train", svhn_root)
    held.images[:] = 0
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)


def test_the_decoded_copy_suffices_when_the_sources_are_gone(svhn_root: Path) -> None:
    load("svhn", "train", svhn_root)
    (svhn_root / "train_32x32.mat").unlink()
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)


def test_a_newer_source_file_is_read_again(svhn_root: Path) -> None:
    load("svhn", "train", svhn_root)
    replacement = random_images(12, 3, 32, 32, seed=5)
    path = write_svhn(svhn_root, "train", replacement)
    os.utime(path, (time.time() + 10, time.time() + 10))
    assert_equal(load("svhn", "train", svhn_root), replacement)


def test_a_source_file_from_the_future_is_read_only_once(svhn_root: Path) -> None:
    tomorrow = time.time() + 86_400
    os.utime(svhn_root / "train_32x32.mat", (tomorrow, tomorrow))
    load("svhn", "train", svhn_root)
    assert decoded_copy(dataset("svhn"), svhn_root, "train") is not None


def test_a_root_that_cannot_be_written_to_still_serves(
    svhn_root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (svhn_root / "decoded").write_text("in the way")
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)
    assert "not kept for the next start" in caplog.text


# Damage


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def cut_in_the_header(path: Path) -> None:
    os.truncate(path, 20)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def lengthen(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


def garble(path: Path) -> None:
    path.write_bytes(b"\x80\x04nothing of the kind" * 20)


def widen(path: Path) -> None:
    np.save(path, np.load(path).astype(np.float32))


def shorten(path: Path) -> None:
    np.save(path, np.load(path)[:-1])


def flatten(path: Path) -> None:
    np.save(path, np.load(path).reshape(1, -1))


def hide_objects(path: Path) -> None:
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)


def exceed(path: Path) -> None:
    np.save(path, np.load(path) + 200)


DAMAGES = [
    (name, damage)
    for name in (IMAGES, LABELS)
    for damage in (
        cut,
        cut_in_the_header,
        empty,
        lengthen,
        garble,
        widen,
        shorten,
        flatten,
        hide_objects,
    )
] + [(LABELS, exceed)]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_a_damaged_copy_is_made_again(
    name: str,
    damage: Callable[[Path], None],
    svhn_root: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    load("svhn", "train", svhn_root)
    damage(svhn_root / "decoded" / name)
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)
    assert "is damaged and made again" in caplog.text
    (svhn_root / "train_32x32.mat").unlink()  # so only a whole copy can serve
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)


@pytest.mark.parametrize("name", [IMAGES, LABELS])
def test_half_a_copy_is_made_whole(name: str, svhn_root: Path) -> None:
    load("svhn", "train", svhn_root)
    (svhn_root / "decoded" / name).unlink()
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)


def test_what_a_crash_left_behind_is_cleared_away(svhn_root: Path) -> None:
    (svhn_root / "decoded").mkdir()
    leftover = svhn_root / "decoded" / f"{IMAGES}.0123abcd.tmp"
    leftover.write_bytes(b"half")
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)
    assert not leftover.exists()


# Several processes


def test_first_uses_at_once_all_get_the_whole_set(svhn_root: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    processes = [
        spawn.Process(target=children.load_and_report, args=(svhn_root, answers)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    expected = (int(EXPECTED.images.sum()), EXPECTED.labels.tolist())
    assert [answers.get(timeout=60) for _ in processes] == [expected] * 4
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert names(svhn_root) - {"svhn.lock"} == {IMAGES, LABELS, SOURCES}


def test_a_process_killed_in_mid_write_leaves_nothing_that_looks_whole(svhn_root: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    process = spawn.Process(target=children.die_while_writing, args=(svhn_root,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not names(svhn_root) & {IMAGES, LABELS}
    assert any(name.endswith(".tmp") for name in names(svhn_root))
    assert_equal(load("svhn", "train", svhn_root), EXPECTED)
    assert names(svhn_root) - {"svhn.lock"} == {IMAGES, LABELS, SOURCES}
