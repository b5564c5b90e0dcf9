"""Groups and their differences on a terminal, rendered to text."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from sweeper.facts import facts_of
from sweeper.records import TrialRecord
from sweeper.result_tables import rerun_table, result_tables, show_outcome
from sweeper.sweep import Sweep
from tests.sweeper.groups import TESTS, TRIALS, reruns_of, swept
from tests.sweeper.records import finished, rerun, selective, sweep_of


def texts_of(
    sweep: Sweep,
    trials: Sequence[TrialRecord] = TRIALS,
    tests: Sequence[TrialRecord] = TESTS,
    width: int = 120,
) -> list[str]:
    console, found = Console(width=width), []
    for table in result_tables(facts_of(sweep, trials, tests), tests):
        with console.capture() as captured:
            console.print(table)
        found.append(captured.get())
    return found


def row(text: str, *words: str) -> str:
    (line,) = [line for line in text.splitlines() if all(word in line for word in words)]
    return " ".join(line.replace("│", " ").split())


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


def test_the_outcome_says_how_selectively_the_best_protects_and_warns() -> None:
    after = [selective(0.31, 0.22, 0.48), selective(0.99, 0.0, 0.02, "PPBI: one for all")]
    facts = facts_of(sweep_of(), [finished(3, 0.9, 0.0, selectivity=(after,))], [])
    console = Console(width=120)
    with console.capture() as captured:
        show_outcome(console, facts, [])
    said = captured.get()
    assert "How selectively trial 3 protects (validation)" in said
    assert "│          1 │ 31.00% │ 22.00% │        0.48 │" in said
    assert "After task 2: PPBI: one for all." in said and "After task 1" not in said


def test_the_outcome_of_what_protects_nothing_has_no_word_of_it() -> None:
    console = Console(width=120)
    with console.capture() as captured:
        show_outcome(console, facts_of(sweep_of(), [finished(3, 0.9, 0.0)], []), [])
    assert "selective" not in captured.get()


def test_reruns_are_shown_as_mean_and_deviation_of_each_configuration() -> None:
    failed = replace(rerun(3, 5, 2, 0.1, 0.0), state="failed")
    tests = [
        rerun(0, 3, 1, 0.90, 0.0),
        rerun(1, 3, 2, 0.92, 0.0),
        rerun(2, 5, 1, 0.8, 0.0),
        failed,
    ]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(rerun_table(tests))
    rows = [line for line in captured.get().splitlines() if "%" in line]
    assert "91.00 ± 1.41%" in rows[0]
    assert "80.00%" in rows[1]
    assert "±" not in rows[1]
