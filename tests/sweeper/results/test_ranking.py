"""Which trials are better, by hand."""

import time
from dataclasses import replace
from random import Random

import pytest

from sweeper.results.ranking import by_group, pareto_front, ranked
from sweeper.results.records import TrialRecord


def trial(number: int, acc: float, bwt: float = 0.0, seconds: float = 1.0) -> TrialRecord:
    return TrialRecord(
        number=number,
        key=f"k{number}",
        values={},
        state="finished",
        metrics={"acc": acc, "bwt": bwt},
        seconds=seconds,
    )


STOPPED = replace(trial(9, 1.0, 1.0), state="stopped")


def numbers(trials: list[TrialRecord]) -> list[int]:
    return [trial.number for trial in trials]


def test_the_best_objective_comes_first_and_only_finished_trials_count() -> None:
    assert numbers(ranked([trial(0, 0.8), STOPPED, trial(1, 0.9)], ["acc"])) == [1, 0]


def test_ties_go_to_the_higher_bwt_then_to_the_cheaper_trial() -> None:
    tied = [trial(0, 0.9, -0.2), trial(1, 0.9, -0.1, seconds=5), trial(2, 0.9, -0.1, seconds=2)]
    assert numbers(ranked(tied, ["acc"])) == [2, 1, 0]


def test_the_front_holds_what_nothing_beats_in_both() -> None:
    trials = [trial(0, 0.9, -0.3), trial(1, 0.8, -0.1), trial(2, 0.8, -0.2), trial(3, 0.7, 0.0)]
    assert numbers(pareto_front([*trials, STOPPED], ["acc", "bwt"])) == [0, 1, 3]


def test_equal_points_share_the_front() -> None:
    assert numbers(pareto_front([trial(0, 0.9), trial(1, 0.9)], ["acc", "bwt"])) == [0, 1]


def test_several_objectives_rank_front_by_front() -> None:
    trials = [trial(0, 0.8, -0.2), trial(1, 0.7, 0.0), trial(2, 0.9, -0.1), trial(3, 0.75, -0.3)]
    assert numbers(ranked(trials, ["acc", "bwt"])) == [2, 1, 0, 3]


def test_nothing_is_ranked_without_trials() -> None:
    assert ranked([], ["acc"]) == []


def test_trials_are_grouped_by_the_values_that_they_have() -> None:
    values = [{"name": "ft"}, {"name": "lra", "alpha": 1}, {"name": "lra", "alpha": 2}]
    trials = [replace(trial(number, 0.5), values=own) for number, own in enumerate(values)]
    groups = by_group(trials, ["name"])
    assert [numbers(group) for group in groups.values()] == [[0], [1, 2]]
    assert list(groups) == [(("name", "ft"),), (("name", "lra"),)]


def naively_ranked(trials: list[TrialRecord], metrics: list[str]) -> list[list[int]]:
    """Front after front, by comparing everything with everything."""
    fronts = []
    while trials:
        front = pareto_front(trials, metrics)
        fronts.append(sorted(numbers(front)))
        trials = [trial for trial in trials if trial not in front]
    return fronts


@pytest.mark.parametrize("metrics", [["acc"], ["acc", "bwt"], ["bwt", "acc"]])
def test_fronts_are_those_that_are_found_by_taking_one_away_after_another(
    metrics: list[str],
) -> None:
    random = Random(0)
    trials = [trial(i, random.randrange(12) / 12, -random.randrange(12) / 12) for i in range(80)]
    order = numbers(ranked(trials, metrics))
    for front in naively_ranked(trials, metrics):
        assert sorted(order[: len(front)]) == front
        order = order[len(front) :]


@pytest.mark.parametrize("metrics", [["acc"], ["acc", "bwt"]])
def test_thousands_of_trials_are_ranked_at_once(metrics: list[str]) -> None:
    random = Random(0)
    trials = [trial(i, random.random(), random.random()) for i in range(3000)]
    began = time.process_time()
    assert len(ranked(trials, metrics)) == 3000
    assert time.process_time() - began < 2.0
