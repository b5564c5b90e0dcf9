"""Cells of a column against each other, run by run."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sweeper.report.table1.against import leaders, pairings, references
from sweeper.report.table1.cells import table_of
from tests.sweeper.report.table1.columns import column, history

HIGH, MIDDLE, LOW = (0.95, 0.96, 0.97, 0.96), (0.93, 0.95, 0.94, 0.94), (0.80, 0.83, 0.81, 0.82)


def test_the_interval_is_that_of_a_paired_t_test() -> None:
    [one] = pairings(column(lra=HIGH, ft=MIDDLE))
    assert (one.first.row.label, one.second.row.label) == ("LRA (Var.)", "MP-FT")
    low, high = one.acc.interval or (0, 0)
    expected = stats.ttest_rel(HIGH, MIDDLE).confidence_interval()
    assert (low, high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert one.acc.n == 4


def test_ours_meet_the_baselines_the_best_rival_and_their_own_controls() -> None:
    found = pairings(column(lra=HIGH, uniform=LOW, ft=LOW, ff=LOW, ewc=MIDDLE, vcl=LOW, jt=HIGH))
    assert [(one.role, one.second.row.label) for one in found] == [
        ("fine-tuning", "MP-FT"),
        ("frozen features", "MP-FF"),
        ("best rival", "EWC"),
        ("control", "LRA (one rate)"),
    ]


def test_the_best_rival_is_chosen_on_validation_data() -> None:
    table = table_of(
        [history("LRA (Var.)", HIGH), history("EWC", LOW, 0.99), history("HAT", HIGH, 0.5)]
    )
    assert [one.second.row.label for one in pairings(table)] == ["EWC"]


def test_only_runs_with_the_same_seed_and_draws_are_pairs() -> None:
    other_seeds = history("MP-FT", LOW, seeds=(4, 5, 6, 7))
    [one] = pairings(table_of([history("LRA (Var.)", HIGH), other_seeds]))
    assert one.acc.n == 1 and one.acc.interval is None
    drawn = [
        replace(again, run={**again.run, "benchmark": {**again.run["benchmark"], "split_seed": 1}})
        for again in history("MP-FT", LOW).tests
    ]
    other_split = replace(history("MP-FT", LOW), tests=drawn)
    assert pairings(table_of([history("LRA (Var.)", HIGH), other_split])) == []


def test_a_leader_is_clearly_above_fine_tuning_frozen_features_and_the_best_rival() -> None:
    ahead = column(lra=HIGH, ppbi=MIDDLE, ft=LOW, ff=LOW, ewc=(0.93, 0.95, 0.94, 0.95))
    assert [entry.row.label for entry in leaders(ahead)] == ["LRA (Var.)"]
    assert leaders(column(lra=HIGH, ft=LOW, ff=LOW)) == []  # no rival has run
    assert leaders(column(lra=HIGH, ft=LOW, ff=LOW, hat=HIGH)) == []


def test_intransigence_and_forward_transfer_are_differences_to_every_task_alone() -> None:
    [one] = references(column(lra=MIDDLE, single=HIGH))
    behind = np.mean(HIGH) - np.mean(MIDDLE)
    assert one.intransigence.mean == pytest.approx(behind)
    assert one.forward and one.forward.mean == pytest.approx(-behind)
