"""The ledger on a real journal: what a sweep was started as, and what is left of it."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution

from sweeper.errors import SweepError
from sweeper.ledger import Ledger, key_of, open_ledger
from sweeper.ledger.journal import JournalFile
from sweeper.results.records import Rerun
from tests.sweeper.ledger.journals import cut_everywhere, drop_last_lines, lines_of
from tests.sweeper.ledgers import (
    BRANCHED,
    FLOATS,
    finish_all,
    opened,
    outcome,
    rerun_all,
    start,
    swept,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Three folders for sweeps of their own."""
    found = [tmp_path / name for name in "abc"]
    for folder in found:
        folder.mkdir()
    return found


# Beginning, and going on


def test_a_sweep_keeps_its_identity_and_its_text(tmp_path: Path) -> None:
    sweep = swept({"x": {"log_uniform": [1e-5, 1e-3]}}, trials=3)
    opened(tmp_path, sweep)
    ledger = open_ledger(tmp_path)
    identity = ledger.sweep_id
    assert (ledger.sweep.text, ledger.sweep.name) == (sweep.text, "s")
    opened(tmp_path, sweep)
    assert open_ledger(tmp_path).sweep_id == identity


def test_two_sweeps_have_two_identities(folders: list[Path]) -> None:
    for folder in folders:
        opened(folder, swept())
    assert len({open_ledger(folder).sweep_id for folder in folders}) == 3


def test_a_folder_where_nothing_has_begun_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="must be the folder of a sweep"):
        open_ledger(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_in_which_nothing_has_begun_has_no_records(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert not ledger.has_begun
    assert (ledger.trial_records(), ledger.rerun_records(), ledger.tracking_uri) == ([], [], None)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_that_died_at_any_line_of_its_beginning_can_begin_again(tmp_path: Path) -> None:
    opened(tmp_path, swept())
    identity = open_ledger(tmp_path).sweep_id
    *died, whole = map(Ledger, cut_everywhere(tmp_path))
    assert [ledger.has_begun for ledger in died] == [False] * 5
    assert whole.has_begun
    for ledger in died:
        ledger.begin(swept())
    assert [ledger.sweep.text for ledger in died] == [swept().text] * 5
    # Nothing, the study, the name of its objective, its identity, its name.
    assert [ledger.sweep_id == identity for ledger in died] == [False] * 3 + [True] * 2


@pytest.mark.parametrize("sampler", ["random", "tpe", "cmaes", "nsga2", "gp", "auto"])
def test_the_same_seed_gives_the_same_sequence_of_configurations(
    folders: list[Path], sampler: str
) -> None:
    space = {**FLOATS, **BRANCHED}
    same, again, other = (
        finish_all(opened(folder, swept(space, sampler=sampler, trials=14, seed=seed)))
        for folder, seed in zip(folders, (1, 1, 2), strict=True)
    )
    assert same == again
    assert same != other


def test_a_sampler_does_not_begin_anew_when_the_sweep_goes_on(tmp_path: Path) -> None:
    done = finish_all(opened(tmp_path, swept(FLOATS, sampler="random", trials=3)))
    more = finish_all(opened(tmp_path, swept(FLOATS, sampler="random", trials=6)))
    assert len({key_of(values) for values in done + more}) == 6


def test_a_finished_sweep_has_nothing_left(tmp_path: Path) -> None:
    finish_all(opened(tmp_path, swept()))
    before = lines_of(tmp_path)
    again = opened(tmp_path, swept())
    assert again.n_left == 0
    assert again.ask() is None
    assert lines_of(tmp_path) == before


def test_a_search_can_be_counted_without_a_word_in_the_journal(tmp_path: Path) -> None:
    sweep = swept(FLOATS, trials=5)
    stage = opened(tmp_path, sweep)
    stage.finish(start(stage)[0], outcome(0.5))
    start(stage)
    stage.study.enqueue_trial({"x": 0.5, "y": 1e-3})
    before = lines_of(tmp_path)
    counted = open_ledger(tmp_path).search(sweep)
    assert (counted.n_left, counted.n_wanted) == (4, 5)
    assert lines_of(tmp_path) == before


# What else is known of a sweep


@pytest.mark.parametrize("name", ["a/mlflow.db", "mlflow.db"])
def test_runs_are_found_again_when_folders_are_moved_together(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "old" / "a"
    folder.mkdir(parents=True)
    ledger = Ledger(folder)
    ledger.begin(swept())
    ledger.tracking_uri = f"sqlite:///{tmp_path}/old/{name}"
    assert Ledger(folder).tracking_uri == f"sqlite:///{tmp_path}/old/{name}"
    (tmp_path / "old").rename(tmp_path / "new")
    moved = Ledger(tmp_path / "new" / "a")
    assert moved.tracking_uri == f"sqlite:///{tmp_path}/new/{name}"
    moved.tracking_uri = "http://host:5000"
    assert moved.tracking_uri == "http://host:5000"


@pytest.mark.parametrize(
    ("name", "before", "value"),
    [
        ("places", [], ["the report: report.html"]),
        ("bound_runs", [], [{"seed": 0, "method": {"name": "ft"}}]),
        ("tracking_uri", None, "http://host:5000"),
    ],
)
def test_what_is_said_of_a_sweep_is_kept(
    tmp_path: Path, name: str, before: Any, value: Any
) -> None:
    ledger = Ledger(tmp_path)
    ledger.begin(swept())
    assert getattr(ledger, name) == before
    setattr(ledger, name, value)
    assert getattr(open_ledger(tmp_path), name) == value


@pytest.mark.parametrize(
    ("name", "value"), [("bound_runs", [{"seed": 0}]), ("tracking_uri", "sqlite:////data/m.db")]
)
def test_what_every_start_says_is_written_once(tmp_path: Path, name: str, value: Any) -> None:
    ledger = Ledger(tmp_path)
    ledger.begin(swept())
    setattr(ledger, name, value)
    before = lines_of(tmp_path)
    setattr(open_ledger(tmp_path), name, value)
    assert lines_of(tmp_path) == before


# Many trials


@pytest.fixture
def lines_read(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every line that was read from a journal."""
    found: list[dict[str, Any]] = []
    read_logs = JournalFile.read_logs

    def noted(journal: JournalFile, log_number_from: int) -> Iterator[dict[str, Any]]:
        for line in read_logs(journal, log_number_from):
            found.append(line)
            yield line

    monkeypatch.setattr(JournalFile, "read_logs", noted)
    return found


def test_a_ledger_reads_its_journal_once(tmp_path: Path, lines_read: list[dict[str, Any]]) -> None:
    sweep = swept(FLOATS, trials=3)
    stage = opened(tmp_path, sweep)
    stage.finish(start(stage)[0], outcome(0.5))
    rerun_all(Ledger(tmp_path).reruns([Rerun(0, 1)]))
    lines_read.clear()
    ledger = open_ledger(tmp_path)
    assert ledger.sweep.text == sweep.text
    assert len(ledger.trial_records()) == len(ledger.rerun_records()) == 1
    again = ledger.search(sweep)
    again.settle()
    assert len(lines_read) == len(lines_of(tmp_path))
    finish_all(again)
    assert len(lines_read) == len(lines_of(tmp_path))


def test_a_large_ledger_is_still_quick(tmp_path: Path) -> None:
    sweep = swept(FLOATS, sampler="random", trials=1100)
    stage = opened(tmp_path, sweep)
    stage.study.add_trials(
        optuna.create_trial(
            params={"x": i / 1000},
            distributions={"x": FloatDistribution(0, 1)},
            value=0.5,
            user_attrs={"outcome": outcome(0.5)},
        )
        for i in range(1000)
    )
    began = time.process_time()
    again = opened(tmp_path, sweep)
    assert again.n_left == 100
    for _ in range(5):
        again.finish(start(again)[0], outcome(0.5))
    assert time.process_time() - began < 1.0


# Other sweeps


def test_a_warm_start_tells_the_sampler_and_counts_for_nothing_else(folders: list[Path]) -> None:
    old, new, _ = folders
    finish_all(opened(old, swept()))
    wider = {"a": {"grid": [3, 2.0, 7]}, "b": {"choice": ["y", "x", "z"]}}
    stage = opened(new, swept(wider, warm_start=[str(old)]))
    told = [trial.params for trial in stage.study.trials]
    assert sorted(map(key_of, told)) == sorted(
        key_of({"a": a, "b": b}) for a in (2.0, 3) for b in ("x", "y")
    )
    assert (Ledger(new).trial_records(), stage.n_left) == ([], 9)
    assert len(finish_all(stage)) == 9


def test_a_warm_start_that_died_half_way_tells_each_trial_once(folders: list[Path]) -> None:
    old, new, _ = folders
    finish_all(opened(old, swept(trials=3)))
    sweep = swept(warm_start=[str(old)])
    Ledger(new).begin(sweep)
    drop_last_lines(new, 2)
    assert len(opened(new, sweep).study.trials) == 3


def test_a_warm_start_from_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="must be the folder of a sweep"):
        opened(tmp_path, swept(warm_start=[str(tmp_path / "no")]))


def test_a_ledger_whose_disk_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    folder.mkdir()
    stage = opened(folder, swept())
    number = start(stage)[0]
    shutil.rmtree(folder)
    with pytest.raises(FileNotFoundError, match="the ledger is gone"):
        stage.fail(number, "diverged")
    assert not folder.exists()
