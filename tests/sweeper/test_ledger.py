"""The ledger on a real journal: what a sweep was started as, and what is left of it."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import optuna
import pytest

from sweeper.errors import SweepError
from sweeper.ledger import JOURNAL, Ledger, has_begun, open_ledger, rerun_of, search_of
from sweeper.space import Values
from sweeper.study import Study, key_of
from tests.sweeper.ledgers import (
    BRANCHED,
    FLOATS,
    finish_all,
    opened,
    outcome,
    start,
    states,
    swept,
)

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


# The file


def test_half_a_line_at_the_end_of_the_journal_is_dropped(tmp_path: Path) -> None:
    study = opened(tmp_path, swept())
    study.finish(start(study)[0], outcome(0.5))
    whole = (tmp_path / JOURNAL).read_bytes()
    (tmp_path / JOURNAL).write_bytes(whole + b'{"op_code":5,"worker')
    again = opened(tmp_path, swept())
    again.finish(start(again)[0], outcome(0.6))
    lines = (tmp_path / JOURNAL).read_bytes().splitlines()
    assert all(json.loads(line) for line in lines)
    assert states(opened(tmp_path, swept())).count("finished") == 2


HOLD_THE_LOCK = """
import sys, time
from pathlib import Path
from sweeper.ledger import Ledger
Ledger(Path(sys.argv[1])).storage._backend._lock.acquire()
print("held", flush=True)
time.sleep(60)
"""


def test_a_lock_held_by_a_killed_process_does_not_block(tmp_path: Path) -> None:
    study = opened(tmp_path, swept())
    command = [sys.executable, "-c", HOLD_THE_LOCK, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGKILL)
    began = time.monotonic()
    start(study)
    assert time.monotonic() - began < 5


# Beginning, and going on


def test_a_sweep_keeps_its_identity_and_its_text(tmp_path: Path) -> None:
    sweep = swept({"x": {"log_uniform": [1e-5, 1e-3]}}, trials=3)
    opened(tmp_path, sweep)
    ledger = open_ledger(tmp_path)
    identity = ledger.sweep_id
    assert (ledger.sweep.text, ledger.sweep.name) == (sweep.text, "s")
    opened(tmp_path, sweep)
    assert open_ledger(tmp_path).sweep_id == identity


def test_two_sweeps_have_two_identities(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        opened(folder, swept())
    assert open_ledger(folders[0]).sweep_id != open_ledger(folders[1]).sweep_id


def test_a_folder_where_nothing_has_begun_is_refused_and_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="must be the folder of a sweep"):
        open_ledger(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_that_died_while_it_began_can_begin_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger._study(search_of(swept())).set_user_attr("id", "one")
    assert not has_begun(tmp_path)
    opened(tmp_path, swept())
    assert has_begun(tmp_path)
    assert open_ledger(tmp_path).sweep_id == "one"


@pytest.mark.parametrize("sampler", ["random", "tpe", "cmaes", "nsga2"])
def test_the_same_seed_gives_the_same_sequence_of_configurations(
    tmp_path: Path, sampler: str
) -> None:
    sequences = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        sweep = swept({**FLOATS, **BRANCHED}, sampler=sampler, trials=14, seed=seed)
        sequences.append(finish_all(opened(tmp_path / name, sweep)))
    assert sequences[0] == sequences[1]
    assert sequences[0] != sequences[2]


def test_a_sampler_does_not_begin_anew_when_the_sweep_goes_on(tmp_path: Path) -> None:
    done = finish_all(opened(tmp_path, swept(FLOATS, sampler="random", trials=3)))
    more = finish_all(opened(tmp_path, swept(FLOATS, sampler="random", trials=6)))
    assert len({key_of(values) for values in done + more}) == 6


def test_a_finished_sweep_has_nothing_left(tmp_path: Path) -> None:
    finish_all(opened(tmp_path, swept()))
    before = (tmp_path / JOURNAL).read_bytes()
    again = opened(tmp_path, swept())
    assert again.n_left == 0
    assert (tmp_path / JOURNAL).read_bytes() == before


def test_a_large_ledger_is_still_quick(tmp_path: Path) -> None:
    sweep = swept(FLOATS, sampler="random", trials=1100)
    study = opened(tmp_path, sweep)
    study.study.add_trials(
        optuna.create_trial(
            params={"x": i / 1000},
            distributions={"x": optuna.distributions.FloatDistribution(0, 1)},
            value=0.5,
            user_attrs={"outcome": outcome(0.5)},
        )
        for i in range(1000)
    )
    again = opened(tmp_path, sweep)
    began = time.process_time()
    for _ in range(5):
        again.finish(start(again)[0], outcome(0.5))
    assert time.process_time() - began < 1.0


# Other sweeps


def test_a_warm_start_tells_the_sampler_and_counts_for_nothing_else(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    finish_all(opened(tmp_path / "old", swept()))
    wider = {"a": {"grid": [3, 2.0, 7]}, "b": {"choice": ["y", "x", "z"]}}
    sweep = swept(wider, warm_start=[str(tmp_path / "old")])
    study = opened(tmp_path / "new", sweep)
    told = [trial.params for trial in study.study.trials]
    assert sorted(map(key_of, told)) == sorted(
        key_of({"a": a, "b": b}) for a in (2.0, 3) for b in ("x", "y")
    )
    assert (study.records(), study.n_left) == ([], 9)
    assert len(finish_all(study)) == 9


def test_a_warm_start_that_died_half_way_tells_each_trial_once(tmp_path: Path) -> None:
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    finish_all(opened(tmp_path / "old", swept(trials=3)))
    sweep = swept(warm_start=[str(tmp_path / "old")])
    Ledger(tmp_path / "new").begin(sweep)
    journal = tmp_path / "new" / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]))
    study = opened(tmp_path / "new", sweep)
    assert len(study.study.trials) == 3


def test_a_warm_start_from_nowhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="must be the folder of a sweep"):
        opened(tmp_path, swept(warm_start=[str(tmp_path / "no")]))


# Reruns on the test sets


def points_of(*numbers: int) -> list[Values]:
    return [{"configuration": number, "seed": seed} for number in numbers for seed in (1, 2)]


def rerun(folder: Path, *numbers: int) -> Study:
    ledger = Ledger(folder)
    study = ledger.open(rerun_of(points_of(*numbers), ledger.test_records()))
    study.release_running()
    return study


def test_the_best_are_rerun_with_all_their_seeds(tmp_path: Path) -> None:
    assert finish_all(rerun(tmp_path, 4)) == points_of(4)
    assert [record.values for record in Ledger(tmp_path).test_records()] == points_of(4)
    assert rerun(tmp_path, 4).n_left == 0


def test_a_later_selection_runs_only_what_is_new(tmp_path: Path) -> None:
    finish_all(rerun(tmp_path, 4))
    assert finish_all(rerun(tmp_path, 4, 7)) == points_of(7)
    assert finish_all(rerun(tmp_path, 2)) == points_of(2)


def test_reruns_that_an_earlier_selection_has_begun_do_not_take_the_place_of_others(
    tmp_path: Path,
) -> None:
    start(rerun(tmp_path, 4))
    done = finish_all(rerun(tmp_path, 7))
    assert [point for point in points_of(7) if point not in done] == []


def test_another_objective_of_the_selection_can_follow(tmp_path: Path) -> None:
    finish_all(rerun(tmp_path, 4))
    study = rerun(tmp_path, 5)
    study.finish(start(study)[0], outcome(0.8, -0.1))
    assert study.search.objective == ("acc",)


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
