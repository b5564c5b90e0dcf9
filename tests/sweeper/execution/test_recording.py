"""What MLflow is told of a trial, read back from a real store."""

import csv
import io
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run
from PIL import Image

from mpnet.config import load_run, parse_run
from mpnet.environment import environment
from sweeper.execution.assignment import AnyAssignment, Surroundings
from sweeper.execution.recording import Recorder, Subject
from sweeper.results.records import Rerun
from sweeper.tracking import Tracking
from tests.sweeper.execution.assignments import rerun, trial
from tests.sweeper.records import R_A, R_B
from tests.sweeper.stores import opened, runs

BLOCK = {
    "benchmark": {"name": "digits"},
    "network": {"name": "mlp", "hidden": [40, 20]},
    "method": {"name": "ppbi", "tau_max": 1e-5},
    "seed": 4,
    "data_root": "/not/for/mlflow",
}
VALUES = {"method.name": "ppbi", "method.tau_max": 1e-5, "layers.rho": -12}
OUTCOME: dict[str, Any] = {
    "metrics": {"acc": 0.91, "bwt": -0.035},
    "seeds": [4, 5],
    "R": [R_A, R_B],
    "seconds": 2.5,
}
FILES = ("json", "csv", "png")


@pytest.fixture(scope="module")
def tracking(empty_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Tracking:
    folder = tmp_path_factory.mktemp("tracking")
    return opened(f"sqlite:///{shutil.copy(empty_store, folder)}", folder)


def subject(tracking: Tracking | None, kind: Any = trial, **changes: Any) -> Subject:
    """A trial of two seeds, or a rerun of one, as a worker meets it."""
    around = Surroundings("/storage", tracking=tracking, command="sweeper launch small.yaml")
    own = {"values": VALUES, "seeds": (4, 5)} if kind is trial else {}
    given = {"surroundings": around, "run": BLOCK, **own, **changes}
    assignment: AnyAssignment = kind(**given)
    configuration = parse_run(assignment.resolved(assignment.seeds[0]))
    return Subject(assignment, configuration, "host 123abc", {"CPU": 2.0})


def run_of(told: Subject) -> Run:
    tracking, key = told.assignment.surroundings.tracking, told.assignment.run_key
    assert tracking is not None
    every = [*runs(tracking), *runs(tracking, "test")]
    [found] = [run for run in every if run.data.tags["sweeper.key"] == key]
    return found


def artifacts(run: Run) -> Path:
    return Path(run.info.artifact_uri.removeprefix("file://"))


@pytest.fixture(scope="module")
def told(tracking: Tracking) -> Subject:
    """A finished trial, told from its first epoch to its end."""
    told = subject(tracking, key="finished")
    recorder = Recorder(told)
    recorder.acc_so_far(0.5, 1)
    recorder.epoch({"loss": 0.7, "accuracy": 0.5}, 1)
    recorder.task({"acc": 0.9, "held": 0.25}, 1)
    recorder.outcome(OUTCOME)
    recorder.close("FINISHED")
    return told


@pytest.fixture(scope="module")
def found(told: Subject) -> Run:
    return run_of(told)


@pytest.fixture(scope="module")
def found_rerun(tracking: Tracking) -> Run:
    """A finished rerun of one seed."""
    told = subject(tracking, rerun, key="again")
    recorder = Recorder(told)
    recorder.acc_so_far(0.5, 1)
    recorder.task({"acc": 0.8}, 1)
    recorder.outcome({**OUTCOME, "seeds": [7], "R": [R_B]})
    recorder.close("FINISHED")
    return run_of(told)


# Settings


def leaves(block: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in block.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}{name}.")
        else:
            yield path + name, value


def test_params_are_the_resolved_run_without_the_place_of_its_data(
    told: Subject, found: Run
) -> None:
    block = told.configuration.model_dump()
    assert block.pop("data_root") == "/not/for/mlflow"
    assert found.data.params == {path: str(value) for path, value in leaves(block)}
    assert found.data.params["training.epochs"] == "250"  # a default


def test_a_trial_is_named_by_its_number_its_method_and_its_values(found: Run) -> None:
    assert found.info.run_name == "3 ppbi tau_max=1e-05 rho=-12"


def test_a_rerun_is_named_by_the_trial_and_the_seed_that_it_reruns(found_rerun: Run) -> None:
    assert found_rerun.info.run_name == "test of 3, seed 7"


def test_a_rerun_on_an_unseen_class_order_says_which(tracking: Tracking, found_rerun: Run) -> None:
    run = {**BLOCK, "benchmark": {"name": "digits", "class_order": 2}}
    told = subject(tracking, rerun, key="order", rerun=Rerun(3, 7, 2), run=run)
    Recorder(told).close("FINISHED")
    found = run_of(told)
    assert found.info.run_name == "test of 3, seed 7, class order 2"
    assert found.data.tags["sweeper.unseen_class_order"] == "2"
    assert found.data.params["benchmark.class_order"] == "2"
    assert "sweeper.unseen_class_order" not in found_rerun.data.tags
    assert found_rerun.data.params["benchmark.class_order"] == "None"


def test_tags_say_what_it_is_and_where_it_runs(found: Run, tracking: Tracking) -> None:
    expected = {
        "sweeper.role": "trial",
        "sweeper.stage": "search",
        "sweeper.node": "host 123abc",
        "sweeper.trial": "3",
        "sweeper.key": "search-finished",
        "sweeper.status": "finished",
        "method": "ppbi",
        "benchmark": "digits",
        "mlflow.parentRunId": tracking.parent_run_id,
    }
    assert found.data.tags.items() >= expected.items()
    assert "sweeper.resumed_at_step" not in found.data.tags
    assert "sweeper.reason" not in found.data.tags


def test_a_rerun_is_told_from_trials_by_its_tags(found_rerun: Run) -> None:
    expected = {"sweeper.role": "test", "sweeper.stage": "test", "sweeper.key": "test-again"}
    assert found_rerun.data.tags.items() >= expected.items()


def test_a_resumed_trial_says_from_which_step_it_goes_on(tracking: Tracking) -> None:
    told = replace(subject(tracking, key="resumed"), resumed_at=12)
    Recorder(told).close("FINISHED")
    assert run_of(told).data.tags["sweeper.resumed_at_step"] == "12"


# Its way


def history(tracking: Tracking, run: Run, metric: str) -> list[tuple[int, float]]:
    points = MlflowClient(tracking.uri).get_metric_history(run.info.run_id, metric)
    return sorted((point.step, point.value) for point in points)


def test_epochs_have_a_prefix_of_their_own(found: Run, tracking: Tracking) -> None:
    assert history(tracking, found, "epoch/loss") == [(1, 0.7)]
    assert history(tracking, found, "epoch/accuracy") == [(1, 0.5)]


def test_metrics_of_a_trial_are_of_validation_data(found: Run) -> None:
    prefixes = {name.split("/")[0] for name in found.data.metrics}
    assert prefixes == {"ACC", "epoch", "val"}
    assert found.data.metrics["val/held"] == 0.25


def test_metrics_of_a_rerun_are_of_the_test_sets(found_rerun: Run) -> None:
    assert {name.split("/")[0] for name in found_rerun.data.metrics} == {"test"}


def test_the_outcome_comes_after_all_tasks_of_all_seeds(found: Run, tracking: Tracking) -> None:
    last = 2 * 2 + 1  # two tasks, two seeds
    assert history(tracking, found, "val/acc") == [(1, 0.9), (last, 0.91)]
    assert history(tracking, found, "val/bwt") == [(last, -0.035)]
    assert history(tracking, found, "val/seconds") == [(last, 2.5)]


def test_the_oldest_metric_of_a_trial_is_its_acc_as_the_page_to_compare_runs_opens_on_it(
    found: Run, tracking: Tracking
) -> None:
    assert history(tracking, found, "ACC") == [(1, 0.5)]
    assert next(iter(found.data.metrics)) == "ACC"


def test_the_outcome_of_one_seed_is_no_step_of_its_own(
    found_rerun: Run, tracking: Tracking
) -> None:
    n_tasks = len(R_B)
    assert history(tracking, found_rerun, "test/bwt") == [(n_tasks, -0.035)]


# Its outcome


def test_several_seeds_have_a_matrix_each(found: Run) -> None:
    matrices = {f"R_seed{seed}.{kind}" for seed in (4, 5) for kind in FILES}
    names = {path.name for path in artifacts(found).iterdir()}
    assert names == {"config.yaml", "environment.json", *matrices}


def test_the_matrix_of_a_single_seed_is_called_r(found_rerun: Run) -> None:
    names = {path.name for path in artifacts(found_rerun).glob("R*")}
    assert names == {f"R.{kind}" for kind in FILES}


@pytest.mark.parametrize(("seed", "R"), [(4, R_A), (5, R_B)])
def test_a_matrix_comes_back_from_json(found: Run, seed: int, R: Any) -> None:
    assert json.loads((artifacts(found) / f"R_seed{seed}.json").read_text()) == R


@pytest.mark.parametrize(("seed", "R"), [(4, R_A), (5, R_B)])
def test_a_matrix_comes_back_from_csv(found: Run, seed: int, R: Any) -> None:
    text = (artifacts(found) / f"R_seed{seed}.csv").read_text()
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["after_task", "task_1", "task_2"]
    assert [[float(value) if value else None for value in row[1:]] for row in rows] == R


def test_a_matrix_is_a_picture_too(found: Run) -> None:
    with Image.open(artifacts(found) / "R_seed4.png") as picture:
        picture.verify()
        assert min(picture.size) > 100


def test_its_configuration_can_be_run_again(told: Subject, found: Run) -> None:
    assert load_run(artifacts(found) / "config.yaml") == told.configuration


def test_the_configuration_of_a_rerun_is_judged_on_the_test_sets(found_rerun: Run) -> None:
    again = load_run(artifacts(found_rerun) / "config.yaml")
    assert (again.split, again.seed) == ("test", 7)


def test_the_environment_has_all_else_that_a_result_depends_on(found: Run) -> None:
    about = json.loads((artifacts(found) / "environment.json").read_text())
    own = {"command": "sweeper launch small.yaml", "resources": {"CPU": 2.0}, "seeds": [4, 5]}
    assert about == {**environment(), **own}


@pytest.mark.parametrize("status", ["FAILED", "KILLED"])
def test_a_trial_without_an_outcome_says_why(tracking: Tracking, status: str) -> None:
    told = subject(tracking, key=status)
    Recorder(told).close(status, "no memory " * 100)
    run = run_of(told)
    assert (run.info.status, len(run.data.tags["sweeper.reason"])) == (status, 400)
    assert run.data.tags["sweeper.reason"].startswith("no memory no memory")


# What is not delivered


def test_what_was_pending_when_a_trial_was_saved_is_told_by_the_one_that_goes_on(
    tracking: Tracking,
) -> None:
    nobody = replace(tracking, uri="http://127.0.0.1:9")
    first = Recorder(subject(nobody, key="moved"))
    first.epoch({"loss": 0.7}, 1)
    saved = json.loads(json.dumps(first.pending))
    told = subject(tracking, key="moved")
    second = Recorder(told, saved)
    second.epoch({"loss": 0.6}, 2)
    second.close("FINISHED")
    assert history(tracking, run_of(told), "epoch/loss") == [(1, 0.7), (2, 0.6)]


def test_without_tracking_nothing_is_told_and_nothing_is_pending() -> None:
    recorder = Recorder(subject(None))
    recorder.epoch({"loss": 0.7}, 1)
    recorder.outcome(OUTCOME)
    recorder.close("FINISHED")
    assert recorder.pending == []
