"""Whether a sweep is finished, by a real ledger."""

from pathlib import Path

import pytest

from sweeper.config.sweep import Sweep
from sweeper.driver.preparation import OpenedSweep
from sweeper.ledger import Ledger, RerunStage
from sweeper.results.selection import best, reruns
from tests.sweeper.groups import GROUPS, swept
from tests.sweeper.ledgers import finish_all, opened, outcome, rerun_all

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def searched(folder: Path, sweep: Sweep) -> Ledger:
    finish_all(opened(folder, sweep))
    ledger = Ledger(folder)
    ledger.places = ["here"]
    return ledger


def selected(ledger: Ledger, sweep: Sweep) -> RerunStage:
    stage = ledger.reruns(reruns(best(ledger.trial_records(), sweep), sweep))
    stage.settle()
    return stage


def is_finished(sweep: Sweep, folder: Path) -> bool:
    return OpenedSweep(sweep, Ledger(folder)).is_finished


def test_a_sweep_is_finished_when_the_best_of_all_groups_have_been_rerun(tmp_path: Path) -> None:
    sweep = swept(seeds=2)
    stage = selected(searched(tmp_path, sweep), sweep)
    assert stage.n_left == len(GROUPS) * 2
    while asked := stage.ask():
        assert not is_finished(sweep, tmp_path)
        stage.finish(asked.number, outcome(0.5))
    assert is_finished(sweep, tmp_path)


def test_groups_that_are_asked_for_later_are_added_to_the_reruns(tmp_path: Path) -> None:
    plain, sweep = swept(each=(), seeds=2), swept(seeds=2)
    ledger = searched(tmp_path, plain)
    rerun_all(selected(ledger, plain))
    assert is_finished(plain, tmp_path)
    assert not is_finished(sweep, tmp_path)
    rerun_all(selected(ledger, sweep))
    assert len(ledger.rerun_records()) == len(GROUPS) * 2  # nothing twice
    assert is_finished(sweep, tmp_path)


def test_reruns_that_were_running_when_the_driver_died_are_given_out_again(tmp_path: Path) -> None:
    sweep = swept(seeds=2)
    ledger = searched(tmp_path, sweep)
    stage = selected(ledger, sweep)
    first, second = stage.ask(), stage.ask()
    assert first and second
    stage.finish(first.number, outcome(0.5))
    again = selected(Ledger(tmp_path), sweep)
    assert again.n_left == len(GROUPS) * 2 - 1
    assert rerun_all(again)[0] == second.what
    done = [r for r in ledger.rerun_records() if r.state == "finished"]
    assert len({r.key for r in done}) == len(done) == len(GROUPS) * 2


def test_a_sweep_whose_records_wait_for_mlflow_is_not_finished(tmp_path: Path) -> None:
    sweep = swept(seeds=2)
    rerun_all(selected(searched(tmp_path, sweep), sweep))
    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox" / "a@1.json").touch()
    assert not is_finished(sweep, tmp_path)
