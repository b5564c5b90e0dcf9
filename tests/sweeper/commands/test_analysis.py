"""`sweeper analysis`: which runs of a sweep are there to be analysed, and how they are named."""

from pathlib import Path

import pytest

from sweeper.commands.analysis import kept_runs, main
from sweeper.errors import SweepError
from sweeper.ledger import Ledger
from sweeper.results.records import Rerun, StageName
from tests.sweeper.ledgers import opened, outcome, start, swept

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A sweep of two trials, seeds 0 and 1 each, and reruns of trial 1 with seed 7."""
    stage = opened(tmp_path, swept(trials=2))
    for acc in (0.4, 0.8):
        stage.finish(start(stage)[0], {**outcome(acc), "seeds": [0, 1]})
    reruns = Ledger(tmp_path).reruns([Rerun(1, 7), Rerun(1, 7, 0)])
    while asked := reruns.ask():
        reruns.finish(asked.number, {**outcome(0.9), "seeds": [7]})
    return tmp_path


def keep(folder: Path, stage: StageName) -> list[Path]:
    """The folders that finished runs of a stage leave, made as a trial does."""
    ledger = Ledger(folder)
    records = ledger.trial_records() if stage == "search" else ledger.rerun_records()
    places = [
        folder / "trials" / "runs" / f"{stage}-{record.key}-seed{seed}"
        for record in records
        for seed in record.seeds
    ]
    for place in places:
        place.mkdir(parents=True)
    return places


@pytest.mark.parametrize(
    ("stage", "names"),
    [
        ("search", ["trial0-seed0", "trial0-seed1", "trial1-seed0", "trial1-seed1"]),
        ("test", ["trial1-seed7", "trial1-seed7-order0"]),  # by the trial that was rerun
    ],
)
def test_a_kept_run_is_named_by_its_trial_and_seed(
    folder: Path, stage: StageName, names: list[str]
) -> None:
    places = keep(folder, stage)
    found = kept_runs(Ledger(folder), folder, stage)
    assert [run.name for run in found] == names
    assert [Path(run.place) for run in found] == places


def test_a_run_that_is_not_there_any_more_is_left_out(folder: Path) -> None:
    first, *others = keep(folder, "search")
    first.rmdir()
    found = kept_runs(Ledger(folder), folder, "search")
    assert [Path(run.place) for run in found] == others


@pytest.mark.parametrize(("stage", "setting"), [("search", "all"), ("test", "test or all")])
def test_where_nothing_was_kept_the_setting_is_named_that_keeps_it(
    folder: Path, stage: StageName, setting: str
) -> None:
    with pytest.raises(SweepError, match=f"sweep.keep_runs must be {setting} when a sweep runs"):
        kept_runs(Ledger(folder), folder, stage)


def test_a_fault_is_told_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spread", str(folder)]) == 2
    printed = capsys.readouterr().err
    assert "finished runs of stage 'test' must be kept there, but none is" in printed


@pytest.mark.parametrize("arguments", [["sprad", "sweeps/a"], ["spread", "sweeps/a", "--stage=x"]])
def test_an_analysis_or_a_stage_that_is_none_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "invalid choice" in capsys.readouterr().err
