"""What trials have saved: found again whole, or not at all."""

import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from sweeper.execution.storage import (
    MEMORY,
    STATE,
    below,
    copy_folder,
    digest_of_state,
    forget,
    is_folder,
    is_marked,
    is_whole,
    keep_state,
    mark,
    restore,
    set_aside_damaged,
    storage_fault,
    unmark,
)
from tests.sweeper.execution.assignments import trial


def folder_of(key: str, number: int, attempt: int = 0) -> str:
    return trial(key=key, number=number, attempt=attempt).folder


def write(folder: Path, text: str = "") -> None:
    """A state of a run, and what the trial remembers besides."""
    if text:
        (folder / STATE).write_text(text)
    (folder / MEMORY).write_text(json.dumps({"state": digest_of_state(folder), "text": text}))


def save(
    storage: Path, key: str, number: int, count: int, text: str = "", attempt: int = 0
) -> Path:
    """As a trial leaves it."""
    folder = storage / folder_of(key, number, attempt) / f"checkpoint_{count:06d}"
    folder.mkdir(parents=True)
    write(folder, text)
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


@pytest.fixture
def storage(tmp_path: Path) -> Path:
    return tmp_path / "storage"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("/a/b", "/a/b/search/x"),
        ("/a/b?/", "/a/b?/search/x"),
        ("s3://bucket", "s3://bucket/search/x"),
        ("s3://bucket/a/?scheme=http&region=eu", "s3://bucket/a/search/x?scheme=http&region=eu"),
    ],
)
def test_a_folder_below_keeps_the_options_of_a_uri(place: str, found: str) -> None:
    assert below(place, "search", "x") == found


def test_nothing_is_restored_where_nothing_was_saved(storage: Path, target: Path) -> None:
    assert not restore(str(storage), "key", target)
    save(storage, "other", 0, 0, "state")
    assert not restore(str(storage), "key", target)
    assert list(target.iterdir()) == []


def test_the_newest_state_of_the_newest_try_is_restored(storage: Path, target: Path) -> None:
    for number, count, text in [(2, 9, "old"), (2, 10, "older"), (10, 0, "a"), (10, 1, "newest")]:
        save(storage, "key", number, count, text)
    save(storage, "key", 2, 20, "of a later attempt at an older one", attempt=11)
    save(storage, "other", 11, 0, "of another")
    assert restore(str(storage), "key", target)
    assert (target / STATE).read_text() == "newest"


def test_the_last_attempt_goes_before_the_others(storage: Path, target: Path) -> None:
    for attempt, text in [(2, "second"), (10, "last"), (0, "first")]:
        save(storage, "key", 1, 0, text, attempt=attempt)
    assert restore(str(storage), "key", target)
    assert (target / STATE).read_text() == "last"


def test_a_new_copy_takes_the_place_of_the_one_before(
    storage: Path, target: Path, work: Path
) -> None:
    place, n_saved = storage / folder_of("key", 1), 0
    for text in ("first", "second", "third"):
        write(work, text)
        n_saved = keep_state(work, str(place), n_saved)
        assert len(list(place.iterdir())) == 1
    assert n_saved == 3
    assert restore(str(storage), "key", target)
    assert (target / STATE).read_text() == "third"


def test_a_copy_that_fails_leaves_the_one_before(
    storage: Path, target: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: str, end: str) -> None:
        raise OSError(errno.ENOSPC, "no room")

    place = str(storage / folder_of("key", 1))
    write(work, "first")
    keep_state(work, place, 0)
    monkeypatch.setattr("sweeper.execution.storage.copy_folder", fail)
    with pytest.raises(OSError, match="no room"):
        keep_state(work, place, 1)
    assert restore(str(storage), "key", target)
    assert (target / STATE).read_text() == "first"


def test_a_try_that_saved_nothing_does_not_hide_the_one_before(
    storage: Path, target: Path
) -> None:
    save(storage, "key", 1, 0, "state")
    (storage / folder_of("key", 2)).mkdir()
    assert restore(str(storage), "key", target)
    assert (target / STATE).read_text() == "state"


def test_a_torn_copy_is_passed_over_for_an_older_whole_one(storage: Path, target: Path) -> None:
    save(storage, "key", 1, 0, "whole")
    torn = save(storage, "key", 2, 0, "the newest state")
    (torn / STATE).write_text("the new")
    missing = save(storage, "key", 3, 0, "newer still")
    (missing / STATE).unlink()
    half = save(storage, "key", 4, 0, "newer than that")
    (half / MEMORY).write_text('{"sta')
    (save(storage, "key", 5, 0, "without a memory") / MEMORY).unlink()
    (save(storage, "key", 6, 0, "with another one") / MEMORY).write_text("[]")
    assert restore(str(storage), "key", target)
    assert (target / STATE).read_text() == "whole"
    assert is_whole(target)


@pytest.mark.parametrize("memory", ["", "[]", "null", '{"finished": [', '{"finished": []}'])
def test_a_damaged_memory_is_named_and_set_aside_and_an_older_state_goes_on(
    storage: Path, target: Path, memory: str
) -> None:
    save(storage / "search", "key", 0, 0, "older")
    save(storage / "search", "key", 1, 0, "newer")
    (harmed,) = (storage / "search" / folder_of("key", 1)).iterdir()
    (harmed / MEMORY).write_text(memory)
    (line,) = set_aside_damaged(str(storage))
    aside = storage / "damaged" / f"{folder_of('key', 1)}-{harmed.name}"
    assert f"{harmed / MEMORY}: must be what a trial has saved, but is damaged" in line
    assert f"it is set aside in {aside}" in line
    assert not harmed.exists() and (aside / MEMORY).read_text() == memory
    assert restore(str(storage / "search"), "key", target)
    assert (target / STATE).read_text() == "older"
    assert list(set_aside_damaged(str(storage))) == []


def test_nothing_is_set_aside_where_nothing_is_damaged_or_saved(storage: Path) -> None:
    assert list(set_aside_damaged(str(storage / "nowhere"))) == []
    save(storage / "search", "key", 0, 0, "state")
    assert list(set_aside_damaged(str(storage))) == []


def test_a_storage_that_is_gone_is_not_made_anew(work: Path, storage: Path) -> None:
    place = str(storage / "trial")
    assert keep_state(work, place, 0) == 1
    shutil.rmtree(storage)
    with pytest.raises(OSError, match="not there any more") as gone:
        keep_state(work, place, 1)
    assert gone.value.errno == errno.ESTALE
    assert not storage.exists()


def test_a_copy_of_the_right_size_with_a_hole_is_torn(storage: Path, target: Path) -> None:
    """As a disk that was full in mid-copy leaves it."""
    (save(storage, "key", 1, 0, "state") / STATE).write_bytes(b"sta\0\0")
    assert not restore(str(storage), "key", target)


def test_a_mark_is_seen_where_it_was_left_and_nowhere_else(storage: Path, target: Path) -> None:
    name = mark(str(storage))
    assert is_marked(str(storage), name)
    assert not is_marked(str(target), name)
    unmark(str(storage), name)
    assert not is_marked(str(storage), name)
    assert list(storage.iterdir()) == []


def test_only_torn_copies_are_none_and_nothing_of_them_is_left(
    storage: Path, target: Path
) -> None:
    (save(storage, "key", 1, 0, "state") / STATE).write_text("sta")
    assert not restore(str(storage), "key", target)
    assert list(target.iterdir()) == []


def test_between_two_runs_there_is_a_memory_and_no_state(storage: Path, target: Path) -> None:
    save(storage, "key", 1, 0, "of the first seed")
    save(storage, "key", 1, 1)
    (target / STATE).write_text("left over")
    assert restore(str(storage), "key", target)
    assert not (target / STATE).exists()


def test_what_is_forgotten_is_gone_and_the_rest_stays(storage: Path, target: Path) -> None:
    save(storage, "key", 1, 0, "state")
    save(storage, "key", 2, 0, "state")
    save(storage, "keys", 3, 0, "state of another")
    forget(str(storage), "key")
    assert not restore(str(storage), "key", target)
    assert restore(str(storage), "keys", target)
    forget(str(storage), "never saved")


def test_a_uri_is_as_good_as_a_path(storage: Path, target: Path) -> None:
    uri = f"file://{storage}"
    assert storage_fault(uri) is None
    save(storage, "key", 1, 0, "state")
    assert restore(uri, "key", target)
    assert (target / STATE).read_text() == "state"
    forget(uri, "key")
    assert not restore(uri, "key", target)


def test_a_good_storage_is_tried_and_left_as_it_was(storage: Path) -> None:
    before = list(storage.rglob("*"))
    assert storage_fault(str(storage / "deep" / "down")) is None
    assert list(storage.rglob("*")) == before


def test_a_storage_that_cannot_be_written_is_named(storage: Path) -> None:
    storage.write_text("a file")
    wrong = storage_fault(str(storage / "below"))
    assert wrong is not None
    assert wrong.startswith(f"{storage}/below: must be a place to write to, but ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_storage_without_permission_is_named(storage: Path) -> None:
    storage.mkdir(mode=0o500)
    assert "must be a place to write to" in str(storage_fault(str(storage)))


@pytest.mark.parametrize("uri", ["nothing://bucket/x", "://"])
def test_a_uri_that_leads_nowhere_is_named(uri: str) -> None:
    assert f"{uri}: must be a place to write to, but " in str(storage_fault(uri))


def test_a_kept_folder_is_copied_over_what_a_torn_copy_left(tmp_path: Path) -> None:
    source, storage = tmp_path / "source", tmp_path / "storage" / "runs" / "key-seed0"
    source.mkdir()
    (source / STATE).write_text("whole")
    storage.mkdir(parents=True)
    (storage / STATE).write_text("who")
    copy_folder(str(source), str(storage))
    assert (storage / STATE).read_text() == "whole"
    copy_folder(storage.as_uri(), str(tmp_path / "back"))
    assert (tmp_path / "back" / STATE).read_text() == "whole"


def test_a_folder_is_known_by_path_and_by_uri(tmp_path: Path) -> None:
    assert is_folder(str(tmp_path)) and is_folder(tmp_path.as_uri())
    assert not is_folder(str(tmp_path / "none"))
