"""Whether a sweep is finished, by a real ledger."""

from pathlib import Path

import pytest

from sweeper.ledger import Ledger, rerun_of, search_of
from sweeper.selector import best, reruns
from sweeper.start import is_finished
from sweeper.study import Study
from sweeper.sweep import Sweep
from tests.sweeper.groups import GROUPS, swept
from tests.sweeper.ledgers import finish_all, outcome, started

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def searched(folder: Path, sweep: Sweep) -> Ledger:
    ledger = Ledger(folder)
    ledger.begin(sweep)
    finish_all(ledger.open(search_of(sweep)))
    ledger.places = ["here"]
    return ledger


def selected(ledger: Ledger, sweep: Sweep) -> Study:
    points = reruns(best(ledger.records(), sweep), sweep)
    return ledger.open(rerun_of(points, ledger.test_records()))


def test_a_sweep_is_finished_when_the_best_of_all_groups_have_been_rerun(tmp_path: Path) -> None:
    sweep = swept(seeds=2)
    ledger = searched(tmp_path, sweep)
    study = selected(ledger, sweep)
    assert study.n_left == len(GROUPS) * 2
    for number, _ in started(study):
        assert not is_finished(sweep, tmp_path)
        study.finish(number, outcome(0.5))
    assert is_finished(sweep, tmp_path)


def test_groups_that_are_asked_for_later_are_added_to_the_reruns(tmp_path: Path) -> None:
    plain, sweep = swept(each=(), seeds=2), swept(seeds=2)
    ledger = searched(tmp_path, plain)
    finish_all(selected(ledger, plain))
    assert is_finished(plain, tmp_path)
    assert not is_finished(sweep, tmp_path)
    finish_all(selected(ledger, sweep))
    assert len(ledger.test_records()) == len(GROUPS) * 2  # nothing twice
    assert is_finished(sweep, tmp_path)


def test_reruns_that_were_running_when_the_driver_died_are_queued_again(tmp_path: Path) -> None:
    sweep = swept(seeds=2)
    ledger = searched(tmp_path, sweep)
    study = selected(ledger, sweep)
    running = started(study)
    study.finish(next(running)[0], outcome(0.5))
    next(running)
    again = selected(Ledger(tmp_path), sweep)
    again.release_running()
    assert again.n_left == len(GROUPS) * 2 - 1
    finish_all(again)
    done = [r for r in ledger.test_records() if r.state == "finished"]
    assert len({r.key for r in done}) == len(done) == len(GROUPS) * 2
