"""Journals that were harmed: what is lost is named, the rest is used, no trial changes place."""

import json
import logging
import random
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from sweeper.errors import SweepError
from sweeper.ledger import JOURNAL, Ledger
from sweeper.ledger.mending import UnreadCurves, line_of, log_of
from sweeper.results.records import Rerun, TrialRecord
from tests.sweeper.ledger.journals import lines_of
from tests.sweeper.ledgers import finish_all, opened, outcome, rerun_all, start, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

RUN = {"method": {"name": "ft"}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a sweep with a failure, five finished trials and two reruns."""
    stage = opened(tmp_path, swept())
    stage.fail(start(stage)[0], "diverged")
    while asked := stage.ask():
        stage.note_run(asked.number, RUN)
        stage.finish(asked.number, outcome(0.1 * asked.number))
    tests = Ledger(tmp_path).reruns([Rerun(1, 5), Rerun(2, 5)])
    while rerun := tests.ask():
        tests.note_run(rerun.number, RUN)
        tests.finish(rerun.number, outcome(0.5))
    return tmp_path


def _write(folder: Path, lines: list[bytes]) -> None:
    (folder / JOURNAL).write_bytes(b"".join(lines))


def _finished(folder: Path) -> dict[int, TrialRecord]:
    records = Ledger(folder).trial_records()
    return {record.number: record for record in records if record.state == "finished"}


def test_curves_are_read_only_when_someone_looks_at_them_and_written_as_they_were(
    tmp_path: Path,
) -> None:
    stage, curves = opened(tmp_path, swept()), [[[1, 0.5, 0.25], [2, 1e-7, None]], []]
    stage.finish(start(stage)[0], {**outcome(0.5), "curves": curves})
    (record,) = _finished(tmp_path).values()
    assert isinstance(record.curves, UnreadCurves)
    assert record.curves == UnreadCurves(json.dumps(list(record.curves)).encode())
    assert record.curves != UnreadCurves(b"[[[1, 2.0, 3.0]]]")
    assert list(record.curves) == curves
    assert record.curves[0] == curves[0] and len(record.curves) == 2
    for line in lines_of(tmp_path):
        log = log_of(line)
        assert log is not None
        assert line_of({key: value for key, value in log.items() if key != "crc"}) == line


def test_every_line_says_whether_it_is_whole(folder: Path) -> None:
    for line in lines_of(folder):
        assert "crc" in json.loads(line)
        log = log_of(line)
        assert log is not None
        for place in range(0, len(line) - 1, 7):
            found = log_of(_flipped(line, place))  # at the end it may be the check that is harmed
            assert found is None or log.items() <= found.items()


def _flipped(line: bytes, place: int, bit: int = 1) -> bytes:
    return line[:place] + bytes([line[place] ^ bit]) + line[place + 1 :]


def test_journals_without_checks_still_open(folder: Path) -> None:
    before = Ledger(folder).trial_records()
    logs = [{k: v for k, v in json.loads(line).items() if k != "crc"} for line in lines_of(folder)]
    _write(folder, [json.dumps(log).encode() + b"\n" for log in logs])
    assert Ledger(folder).trial_records() == before


@pytest.mark.parametrize("harm", ["flipped", "split", "joined"])
def test_no_harm_to_a_line_changes_what_the_others_say(folder: Path, harm: str) -> None:
    """At every line: what is still finished is as it was, and what is not was named."""
    before, lines = _finished(folder), lines_of(folder)
    for place in range(len(lines)):
        line, middle = lines[place], len(lines[place]) // 2
        harmed = {
            "flipped": [_flipped(line, middle)],
            "split": [line[:middle] + b"\n", line[middle:]],
            "joined": [_flipped(line, len(line) - 1, 4)],
        }[harm]
        _write(folder, [*lines[:place], *harmed, *lines[place + 1 :]])
        after = _finished(folder)
        assert after.items() <= before.items(), (harm, place)


def test_trials_that_are_gone_without_a_trace_leave_a_gap(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before, lines = _finished(folder), lines_of(folder)
    _write(folder, [line for line in lines if b'"place":[2,2]' not in line])
    assert _finished(folder) == {number: before[number] for number in before if number != 2}
    text = "trial 2 has lost its beginning: it is left out and run anew"
    assert text in caplog.text


def test_random_harms_give_no_traceback_and_no_wrong_trial(folder: Path) -> None:
    before, whole, draw = _finished(folder), (folder / JOURNAL).read_bytes(), random.Random(0)
    for _ in range(100):
        content, place = bytearray(whole), draw.randrange(len(whole))
        kind, n_bytes = draw.choice("flip zero cut insert".split()), draw.randint(1, 2000)
        if kind == "flip":
            content[place] ^= 1 << draw.randrange(8)
        elif kind == "zero":
            content[place : place + n_bytes] = bytes(len(content[place : place + n_bytes]))
        elif kind == "cut":
            del content[place : place + n_bytes]
        else:
            content[place:place] = draw.randbytes(n_bytes)
        (folder / JOURNAL).write_bytes(content)
        assert _finished(folder).items() <= before.items(), (kind, place, n_bytes)


def test_a_damaged_line_is_named_with_what_it_held_and_the_trial_runs_again(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = lines_of(folder)
    (place,) = [
        n for n, line in enumerate(lines) if b'"trial_id":3' in line and b'{"outcome"' in line
    ]
    lines[place] = _flipped(lines[place], len(lines[place]) // 2)
    _write(folder, lines)
    with caplog.at_level(logging.WARNING):
        ledger = Ledger(folder)
    assert f"line {place + 1} is damaged: it held the outcome of trial 3." in caplog.text
    assert "trial 3 has lost its outcome: it is run again." in caplog.text
    assert [r.number for r in ledger.trial_records() if r.state == "running"] == [3]


def test_a_mended_journal_is_optunas_again_and_goes_on(folder: Path) -> None:
    before, lines = (folder / JOURNAL).read_bytes(), lines_of(folder)
    place = next(n for n, line in enumerate(lines) if b'"op_code":4' in line)
    lines[place] = _flipped(lines[place], len(lines[place]) // 2)
    _write(folder, lines)
    harmed = (folder / JOURNAL).read_bytes()
    ledger = Ledger(folder)
    assert "mended; as it was, it is in" in ledger.mend()
    assert ledger.mend() == ""
    assert (folder / f"{JOURNAL}.damaged1").read_bytes() == harmed != before
    storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    study = optuna.load_study(study_name="search", storage=storage)
    assert [trial.number for trial in study.trials] == [0, 1, 2, 3, 4, 5]
    stage = ledger.search(swept())
    stage.settle()
    assert len(finish_all(stage)) == 1  # the one whose beginning was lost
    assert Ledger(folder).search(swept()).n_left == 0
    rerun_all(ledger.reruns([Rerun(3, 5)]))
    assert [record.state for record in Ledger(folder).rerun_records()] == ["finished"] * 3


def test_a_line_that_only_looks_right_is_named(folder: Path) -> None:
    _write(folder, [b'{"op_code":4,"worker_id":"a"}\n'])
    with pytest.raises(SweepError, match="study.journal: line 1 must be one of Optuna's"):
        Ledger(folder)
