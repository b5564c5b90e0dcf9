"""The reruns on the test sets: those of every selection once, whoever dies when."""

import hashlib
import json
from pathlib import Path

import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.trial import TrialState

from sweeper.ledger import Ledger, RerunStage, key_of_rerun
from sweeper.results.records import Rerun
from tests.sweeper.ledger.journals import cut_everywhere, drop_last_lines
from tests.sweeper.ledgers import outcome, rerun_all

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def reruns_of(*configurations: int) -> list[Rerun]:
    return [Rerun(configuration, seed) for configuration in configurations for seed in (1, 2)]


def opened(folder: Path, *configurations: int) -> RerunStage:
    """What a driver does first."""
    stage = Ledger(folder).reruns(reruns_of(*configurations))
    stage.settle()
    return stage


def finished(folder: Path) -> list[Rerun]:
    return [r.rerun for r in Ledger(folder).rerun_records() if r.state == "finished"]


def test_the_best_are_rerun_with_all_their_seeds(tmp_path: Path) -> None:
    assert rerun_all(opened(tmp_path, 4)) == finished(tmp_path) == reruns_of(4)
    assert opened(tmp_path, 4).n_left == 0


def test_a_rerun_keeps_its_outcome_and_its_run(tmp_path: Path) -> None:
    stage = opened(tmp_path, 4)
    asked = stage.ask()
    assert asked is not None
    stage.note_run(asked.number, {"split": "test"})
    stage.finish(asked.number, outcome(0.9, -0.1))
    [record] = Ledger(tmp_path).rerun_records()
    assert (record.rerun, record.key) == (asked.what, key_of_rerun(asked.what))
    assert (record.state, record.split, record.run) == ("finished", "test", {"split": "test"})
    assert record.metrics == {"acc": 0.9, "bwt": -0.1}


def test_a_later_selection_runs_only_what_is_new(tmp_path: Path) -> None:
    rerun_all(opened(tmp_path, 4))
    assert rerun_all(opened(tmp_path, 4, 7)) == reruns_of(7)
    assert rerun_all(opened(tmp_path, 2)) == reruns_of(2)


def test_reruns_that_an_earlier_selection_has_begun_end_beside_those_of_the_next(
    tmp_path: Path,
) -> None:
    opened(tmp_path, 4).ask()
    stage = opened(tmp_path, 7)
    assert stage.n_left == 3
    assert rerun_all(stage) == [Rerun(4, 1), *reruns_of(7)]


def test_a_rerun_that_several_selections_name_is_run_once(tmp_path: Path) -> None:
    stage = opened(tmp_path, 4, 4)
    assert stage.n_wanted == 2
    assert rerun_all(stage) == reruns_of(4)


def test_another_objective_of_the_selection_can_follow(tmp_path: Path) -> None:
    rerun_all(opened(tmp_path, 4))
    stage = opened(tmp_path, 5)
    rerun_all(stage)
    assert stage.objective == ("acc",)


def test_no_rerun_without_a_finite_accuracy_is_finished(tmp_path: Path) -> None:
    stage = opened(tmp_path, 4)
    asked = stage.ask()
    assert asked is not None
    stage.finish(asked.number, outcome(float("nan")))
    assert [record.state for record in Ledger(tmp_path).rerun_records()] == ["failed"]


def test_a_crashed_rerun_is_tried_again_under_its_number_after_a_restart_too(
    tmp_path: Path,
) -> None:
    tries = []
    for retries_left in (True, True, False):
        stage = opened(tmp_path, 4)
        asked = stage.ask()
        assert asked is not None
        tries.append((asked.number, asked.attempt, asked.what))
        assert stage.crash(asked.number, "no memory", 2) is retries_left
    assert tries == [(0, attempt, Rerun(4, 1)) for attempt in range(3)]
    assert rerun_all(opened(tmp_path, 4)) == [Rerun(4, 2)]


def test_dying_after_any_line_leaves_each_rerun_to_be_done_once(tmp_path: Path) -> None:
    rerun_all(opened(tmp_path, 4, 7))
    found = []
    for folder in cut_everywhere(tmp_path):
        Ledger(folder).rerun_records()  # can be read before it is settled
        rerun_all(opened(folder, 4, 7))
        found.append(finished(folder))
    assert found == [reruns_of(4, 7)] * len(found)


def test_an_outcome_that_was_written_before_the_death_counts(tmp_path: Path) -> None:
    rerun_all(opened(tmp_path, 4))
    drop_last_lines(tmp_path)
    assert rerun_all(opened(tmp_path, 4)) == []
    assert finished(tmp_path) == reruns_of(4)


def test_a_rerun_that_waits_in_optuna_and_was_never_asked_for_does_no_harm(
    tmp_path: Path,
) -> None:
    opened(tmp_path, 4).study.enqueue_trial({"configuration": 9, "seed": 9})
    opened(tmp_path, 4).study.enqueue_trial({"configuration": 4, "seed": 1})
    assert Ledger(tmp_path).rerun_records() == []
    stage = opened(tmp_path, 4)
    assert (stage.n_wanted, rerun_all(stage)) == (2, reruns_of(4))
    assert finished(tmp_path) == reruns_of(4)
    assert not stage.study.get_trials(states=(TrialState.WAITING, TrialState.RUNNING))


def test_a_rerun_that_optuna_was_asked_for_without_its_values_is_void(tmp_path: Path) -> None:
    opened(tmp_path, 4).study.ask()
    stage = opened(tmp_path, 4)
    assert stage.study.trials[0].user_attrs == {"void": True}
    assert rerun_all(stage) == finished(tmp_path) == reruns_of(4)


# Class orders


def key_of_fields(**fields: int) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]


def test_a_rerun_on_the_tuned_class_order_has_the_key_of_two_fields() -> None:
    """Checkpoints, kept runs and MLflow runs of older sweeps are found by it."""
    assert key_of_rerun(Rerun(4, 1)) == key_of_fields(configuration=4, seed=1)
    assert key_of_rerun(Rerun(4, 1, 0)) == key_of_fields(configuration=4, seed=1, class_order=0)


def test_reruns_on_unseen_class_orders_are_done_once_beside_the_others(tmp_path: Path) -> None:
    wanted = [*reruns_of(4), Rerun(4, 1, 0), Rerun(4, 2, 1)]
    assert rerun_all(Ledger(tmp_path).reruns(wanted)) == wanted
    assert finished(tmp_path) == wanted
    assert Ledger(tmp_path).reruns(wanted).n_left == 0


def test_a_ledger_with_reruns_of_two_fields_opens_and_goes_on(tmp_path: Path) -> None:
    """One that is done, one that its driver left running, as they were written before."""
    study = Ledger(tmp_path).reruns([]).study
    for seed, state in ((1, TrialState.COMPLETE), (2, TrialState.RUNNING)):
        fields = {"configuration": 4, "seed": seed}
        whole = {"value": 0.5, "user_attrs": {"outcome": outcome(0.5)}} if seed == 1 else {}
        spread = dict.fromkeys(fields, IntDistribution(0, 2**31))
        made = optuna.create_trial(state=state, params=fields, distributions=spread, **whole)
        study.add_trial(made)
    assert [r.rerun for r in Ledger(tmp_path).rerun_records()] == reruns_of(4)
    stage = Ledger(tmp_path).reruns([*reruns_of(4), Rerun(4, 1, 0)])
    stage.settle()
    assert rerun_all(stage) == [Rerun(4, 2), Rerun(4, 1, 0)]
    assert finished(tmp_path) == [*reruns_of(4), Rerun(4, 1, 0)]


def test_dying_after_any_line_leaves_each_class_order_to_be_done_once(tmp_path: Path) -> None:
    wanted = [Rerun(4, 1), Rerun(4, 1, 0), Rerun(4, 2, 1)]
    rerun_all(Ledger(tmp_path).reruns(wanted))
    for folder in cut_everywhere(tmp_path):
        stage = Ledger(folder).reruns(wanted)
        stage.settle()
        rerun_all(stage)
        assert finished(folder) == wanted
