"""The page of results: honest with nothing, complete with something."""

import shlex

from sweeper.report.table1.cells import table_of
from sweeper.report.table1.results_page import results_page
from tests.sweeper.report.table1.columns import column, history
from tests.sweeper.report.table1.test_against import HIGH, LOW, MIDDLE

FULL = column(lra=HIGH, uniform=MIDDLE, ppbi=MIDDLE, ft=LOW, ff=LOW, ewc=LOW, single=HIGH)


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_without_sweeps_the_page_says_so() -> None:
    text = results_page(table_of([]), "results")
    assert "No test results yet; 0 of the paper's 91 cells" in text
    assert "2-Split MNIST, 5-Split MNIST" in section(text, "Columns without a sweep")
    assert "There is no sweep yet." in text
    assert "| for |" not in text and "| against |" not in text and "**" not in text


def test_a_column_has_all_rows_of_the_paper_and_controls_apart_from_them() -> None:
    printed, _, own = section(results_page(FULL, "results"), "2-Split MNIST").partition("Controls")
    assert "| LRA (Var.) | **96.00 ± 0.82** | -1.00 ± 0.00 | 4 | 1 | 99.32 / -0.04 |" in printed
    assert "| UCL | – | – | 0 | – | 98.66 / -0.41 | – | – | no sweep |" in printed
    assert "| LRA (one rate) | 94.00 ± 0.82 |" in own and "| Single task |" in own


def test_nothing_is_bold_that_is_not_clearly_ahead() -> None:
    text = results_page(FULL, "results")
    assert "**96.00 ± 0.82**" in text  # LRA (Var.)
    assert text.count("**") == 4 and "**94.00 ± 0.82**" in text  # and PPBI (Var.)
    assert "**" not in results_page(column(lra=HIGH, ft=LOW), "results")


def test_ours_stand_against_others_with_intervals_and_against_every_task_alone() -> None:
    text = section(results_page(FULL, "results"), "2-Split MNIST")
    assert "| LRA (Var.) | LRA (one rate) | control | +2.00 [" in text
    assert "| LRA (Var.) | EWC | best rival | +14.50 [" in text
    assert "| | intransigence | forward transfer |" in text


def test_claims_have_their_figures_or_are_not_tested() -> None:
    text = results_page(FULL, "results")
    assert "| 2-Split MNIST | for | LRA (Var.) less MP-FT: +14.50 [" in text
    rest = "| LRA is above UCB, which sets rates by sampled uncertainty | all columns | not tested"
    assert rest in text


def test_each_cell_has_its_ledger_its_commit_and_a_command() -> None:
    text = section(results_page(FULL, "results"), "Where each number comes from")
    [line] = [line for line in text.splitlines() if line.startswith("| MP-FT |")]
    ledger, trial, commit, command = (part.strip() for part in line.split("|")[3:-1])
    assert (ledger, trial, commit) == ("`results/MP-FT`", "0", "abc")
    words = shlex.split(command.strip("`"))
    assert words[:4] == ["./run", "python", "-m", "mpnet"]
    assert words[4] == "results/MP-FT/s.yaml" and words[-4:] == ["--split", "test", "--seed", "1"]


def test_a_cell_without_results_says_what_is_missing() -> None:
    text = results_page(table_of([history("EWC", [])]), "results")
    assert "search: 1 of 2 trials |" in section(text, "2-Split MNIST")
    assert "nothing to compare yet" in text
