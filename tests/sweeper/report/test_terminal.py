"""What came of a sweep on a terminal, rendered to text: ranking, groups, reruns, protection."""

from collections.abc import Sequence
from typing import Any

import pytest
from rich.console import Console

from sweeper.config.sweep import Sweep
from sweeper.report.terminal import (
    headline,
    print_lines,
    ranking_table,
    rerun_table,
    result_tables,
    show_outcome,
)
from sweeper.results.facts import facts_of
from sweeper.results.records import RerunRecord, TrialRecord
from tests.sweeper.groups import TESTS, TRIALS, reruns_of, swept
from tests.sweeper.records import (
    failed,
    failed_rerun,
    finished,
    order_rerun,
    rerun,
    selective,
    sweep_of,
    unfinished,
)

BRACKETS = "[red]no[/] [/bold] [Errno 2] :smile:"
BEST = finished(4, 0.9, -0.01, values={"method.tau_0": 0.1})


def text_of(shown: Any, width: int = 120) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


def texts_of(
    sweep: Sweep,
    trials: Sequence[TrialRecord] = TRIALS,
    tests: Sequence[RerunRecord] = TESTS,
    width: int = 120,
) -> list[str]:
    return [text_of(table, width) for table in result_tables(facts_of(sweep, trials, tests))]


def row(text: str, *words: str) -> str:
    (line,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return " ".join(line.replace("│", " ").split())


# The ranking


def test_the_ranking_shows_the_best_first_and_counts_the_rest() -> None:
    trials = [
        *(finished(number, number / 20, -number / 200) for number in range(12)),
        failed(12, "Diverged"),
        unfinished(13, "running"),
    ]
    lines = text_of(ranking_table(trials, ["acc"])).splitlines()
    rows = [line for line in lines if "%" in line]
    assert len(rows) == 10
    assert [part for part in rows[0].split() if part[0].isdigit()][:2] == ["1", "11"]
    assert "55.00%" in rows[0]
    assert "-5.50%" in rows[0]
    assert "2 more finished; 12 finished, 1 failed, 1 running" in lines[-1]


def test_a_value_that_a_trial_does_not_have_is_left_out() -> None:
    trials = [finished(0, 0.9, 0.0, values={"a": 1}), finished(1, 0.8, 0.0, values={"b": None})]
    rows = [line for line in text_of(ranking_table(trials, ["acc"])).splitlines() if "%" in line]
    assert "None" not in rows[0]
    assert "None" in rows[1]


def test_a_ranking_without_finished_trials_is_empty() -> None:
    text = text_of(ranking_table([failed(0, "Diverged")], ["acc"]))
    assert "1 failed" in text and "%" not in text


@pytest.mark.parametrize("values", [{"x": BRACKETS}, {BRACKETS: 1}])
def test_brackets_are_shown_as_they_are(values: dict[str, Any]) -> None:
    assert BRACKETS in text_of(ranking_table([finished(0, 0.9, 0.0, values=values)], ["acc"]))


@pytest.mark.parametrize(
    ("trials", "tests", "line"),
    [
        ([], [], "no trial has finished"),
        ([BEST], [], "validation ACC 90.00%  BWT -1.00%  tau_0=0.1"),
        ([BEST], [rerun(0, 4, 1, 0.8, 0.0)], "test ACC 80.00%  BWT 0.00%  tau_0=0.1"),
        (
            [BEST],
            [rerun(n, 4, n, 0.8 + n / 50, 0.0) for n in (1, 2)],
            "test ACC 83.00 ± 1.41%  BWT 0.00 ± 0.00%  tau_0=0.1",
        ),
        (
            [BEST],
            [rerun(0, 4, 1, 0.8, 0.0), order_rerun(1, 4, 1, 0, 0.7)],
            "test ACC 80.00%  BWT 0.00%  (unseen class orders: ACC 70.00%)  tau_0=0.1",
        ),
        ([BEST], [rerun(0, 3, 1, 0.8, 0.0)], "validation ACC 90.00%  BWT -1.00%  tau_0=0.1"),
    ],
)
def test_a_line_tells_the_test_result_of_the_best_or_else_what_it_reached_in_the_search(
    trials: list[TrialRecord], tests: list[RerunRecord], line: str
) -> None:
    assert headline(facts_of(sweep_of(), trials, tests)) == f"lra_or_ppbi: {line}"


def test_lines_to_be_copied_are_neither_wrapped_nor_marked_up() -> None:
    console = Console(width=20)
    lines = [f"/a/long/path/to/the/report.html {BRACKETS}", "mlflow ui"]
    with console.capture() as captured:
        print_lines(console, lines)
    assert captured.get().splitlines() == lines


# Groups and reruns


def test_a_group_has_its_test_result_and_the_configuration_behind_it() -> None:
    _, groups = texts_of(swept())
    assert row(groups, "lra var") == "lra var 91.00 ± 1.41 -9.00 ± 1.41 2 alpha=1"
    assert row(groups, " ft ") == "ft 45.00 ± 7.07 -55.00 ± 7.07 2 alpha=1"


def test_a_pair_has_both_differences_with_their_intervals() -> None:
    """Differences of 10 and 8 points: their deviation is 1.41, t is 12.706, n is 2."""
    pairs, _ = texts_of(swept())
    expected = "lra var lra uniform +9.00 ± 12.71 +9.00 ± 12.71"
    assert row(pairs, "lra var", "lra uniform") == expected


def test_an_interval_that_is_clear_of_zero_has_a_star() -> None:
    tests = [*reruns_of(1, 0.90, 0.92), *reruns_of(4, 0.70, 0.70)]  # 20 and 22 points
    pairs, _ = texts_of(swept(), tests=tests)
    assert "+21.00 ± 12.71 *" in row(pairs, "lra var", "ppbi uniform")


def test_a_group_that_cannot_be_compared_says_why() -> None:
    _, groups = texts_of(swept(), TRIALS[:4], TESTS[:6])
    assert row(groups, "ppbi var") == "ppbi var trial 3 has no test result"
    assert row(groups, " ft ") == "ft no trial has finished"


def test_differences_fit_into_a_narrow_terminal() -> None:
    pairs, _ = texts_of(swept(), width=80)
    assert len([line for line in pairs.splitlines() if "±" in line]) == 9 + 1  # and the caption


def test_without_groups_the_reruns_are_listed_and_without_reruns_nothing() -> None:
    (listed,) = texts_of(swept(each=()))
    assert "The best, on the test sets" in listed
    assert texts_of(swept(), tests=[]) == []


ON_ORDERS = [order_rerun(9, 1, 1, 0, 0.40, -0.5), order_rerun(10, 1, 2, 1, 0.50, -0.3)]


def test_unseen_class_orders_have_a_table_of_their_own_which_changes_no_other() -> None:
    (plain,) = texts_of(swept(each=()))
    tuned, unseen = texts_of(swept(each=()), tests=[*TESTS, *ON_ORDERS])
    assert tuned == plain
    assert "The best on unseen class orders, on the test sets" in unseen
    assert row(unseen, "%") == "1 2 45.00 ± 7.07% -40.00 ± 14.14%"


def test_groups_are_compared_on_the_tuned_class_order_alone() -> None:
    pairs, groups = texts_of(swept())
    *tuned, unseen = texts_of(swept(), tests=[*TESTS, *ON_ORDERS])
    assert tuned == [pairs, groups]
    assert row(unseen, "%") == "lra var 1 2 45.00 ± 7.07% -40.00 ± 14.14%"


def test_reruns_on_unseen_class_orders_alone_are_shown_too() -> None:
    (unseen,) = texts_of(swept(), tests=ON_ORDERS)
    assert "unseen class orders" in unseen


def test_the_outcome_says_how_selectively_the_best_protects_and_warns() -> None:
    after = [selective(0.31, 0.22, 0.48), selective(0.99, 0.0, 0.02, "PPBI: one for all")]
    facts = facts_of(sweep_of(), [finished(3, 0.9, 0.0, selectivity=(after,))], [])
    console = Console(width=120)
    with console.capture() as captured:
        show_outcome(console, facts)
    said = captured.get()
    assert "How selectively trial 3 protects (validation)" in said
    assert "│          1 │ 31.00% │ 22.00% │        0.48 │" in said
    assert "After task 2: PPBI: one for all." in said and "After task 1" not in said


def test_the_outcome_of_what_protects_nothing_has_no_word_of_it() -> None:
    console = Console(width=120)
    with console.capture() as captured:
        show_outcome(console, facts_of(sweep_of(), [finished(3, 0.9, 0.0)], []))
    assert "selective" not in captured.get()


def test_reruns_are_shown_as_mean_and_deviation_of_each_configuration() -> None:
    tests = [
        rerun(0, 3, 1, 0.90, 0.0),
        rerun(1, 3, 2, 0.92, 0.0),
        rerun(2, 5, 1, 0.8, 0.0),
        failed_rerun(3, 5, 2, "Diverged"),
    ]
    text = text_of(rerun_table(facts_of(sweep_of(), [], tests).tests))
    rows = [line for line in text.splitlines() if "%" in line]
    assert "91.00 ± 1.41%" in rows[0]
    assert "80.00%" in rows[1]
    assert "±" not in rows[1]
