"""What a worker is told: what it may see, where it saves, what it is found by."""

from collections.abc import Callable
from itertools import product

import pytest

from sweeper.execution.assignment import AnyAssignment, Surroundings
from sweeper.results.records import StageName
from tests.sweeper.execution.assignments import RUN, rerun, trial


@pytest.mark.parametrize("said", ["validation", "test", None])
@pytest.mark.parametrize(("kind", "split"), [(trial, "validation"), (rerun, "test")])
def test_the_split_follows_from_the_kind_of_assignment_whatever_the_run_says(
    kind: Callable[..., AnyAssignment], split: str, said: str | None
) -> None:
    run = {key: value for key, value in {**RUN, "split": said}.items() if value is not None}
    assert kind(run=run).resolved(0)["split"] == split


def test_a_run_is_resolved_for_each_seed_and_otherwise_as_it_was() -> None:
    assignment = trial(seeds=(4, 5))
    runs = [assignment.resolved(seed) for seed in assignment.seeds]
    assert runs == [{**RUN, "seed": 4}, {**RUN, "seed": 5}]
    assert RUN["seed"] == 0


def test_no_two_attempts_and_no_two_trials_save_in_the_same_folder() -> None:
    tries = [trial(number=number, attempt=attempt) for number, attempt in product((1, 12), (0, 1))]
    assert len({one.folder for one in tries}) == len(tries)
    assert sorted(one.folder for one in tries) == [one.folder for one in tries]  # oldest first
    assert all(one.folder.startswith("key-") for one in tries)


def test_each_stage_saves_below_a_folder_of_its_own() -> None:
    around = Surroundings("s3://bucket/a?scheme=http")
    assert trial(surroundings=around).storage == "s3://bucket/a/search?scheme=http"
    assert rerun(surroundings=around).storage == "s3://bucket/a/test?scheme=http"


@pytest.mark.parametrize(
    ("keep_runs", "search", "test"),
    [
        ((), None, None),
        (("test",), None, "/storage/runs"),
        (("search", "test"), "/storage/runs", "/storage/runs"),
    ],
)
def test_only_the_runs_of_the_stages_asked_for_are_kept_beside_all_that_is_saved(
    keep_runs: tuple[StageName, ...], search: str | None, test: str | None
) -> None:
    around = Surroundings("/storage", keep_runs=keep_runs)
    assert trial(surroundings=around).kept_below == search
    assert rerun(surroundings=around).kept_below == test


def test_a_trial_and_a_rerun_of_one_key_are_found_apart() -> None:
    assert (trial().run_key, rerun().run_key) == ("search-key", "test-key")


def test_a_rerun_belongs_to_the_trial_that_it_reruns() -> None:
    assert (trial(number=5).trial, rerun(number=5).trial) == (5, 3)
