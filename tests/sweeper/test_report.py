"""The report as a pure function of literal records, and its command line."""

import csv
import io
import re
import statistics
import sys
import types
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import plotly.offline
import pytest

from sweeper.errors import SweepError
from sweeper.records import Matrix, TrialRecord
from sweeper.report import Report, render
from sweeper.report.__main__ import main
from sweeper.report.facts import facts_of, measured, over_seeds
from sweeper.report.page import FOLDER
from sweeper.report.texts import duration, percent, run_commands, short_names
from sweeper.sweep import Sweep, parse_sweep

HOSTILE = "<script>alert('x')</script> | </td> `code` {{ 7 * 7 }}"
SPACE: dict[str, Any] = {
    "method.name": {"choice": ["lra", "ppbi"]},
    "method.alpha_max": {"log_uniform": [1.0e-5, 1.0e-3], "when": {"method.name": "lra"}},
    "method.tau_max": {"log_uniform": [1.0e-7, 1.0e-2], "when": {"method.name": "ppbi"}},
    "method.tau_0": {"grid": [1.0e-8, 1.0e-6, 1.0e-4]},
    "layers.rho": {"grid": [-10, -14, -18]},
    "layers.is_noisy": {"choice": [True, False, None]},
}
R_A: Matrix = [[0.90, None], [0.80, 0.96]]  # acc 0.88, bwt -0.05
R_B: Matrix = [[0.94, None], [0.90, 0.98]]  # acc 0.94, bwt -0.02


def sweep_of(space: dict[str, Any] = SPACE, **settings: Any) -> Sweep:
    blocks = {
        "run": {
            "benchmark": {"name": "split_mnist", "n_tasks": 2},
            "method": {"name": "lra", "measure": "var"},
            "training": {"epochs": 3, "batch_size": 500},
        },
        "space": space,
        "sweep": {"sampler": "random", **settings},
    }
    return parse_sweep(blocks, "lra_or_ppbi")


def values_of(number: int) -> dict[str, Any]:
    own = {"method.alpha_max": 1e-5 * (1 + number % 90)}
    other = {"method.tau_max": 1e-6 * (1 + number)}
    is_lra = number % 3 != 0
    return {
        "method.name": "lra" if is_lra else "ppbi",
        **(own if is_lra else other),
        "method.tau_0": (1e-8, 1e-6, 1e-4)[number % 3],
        "layers.rho": (-10, -14, -18)[number // 3 % 3],
        "layers.is_noisy": (True, False, None)[number % 3],
    }


def finished(
    number: int, acc: float, bwt: float, R: tuple[Matrix, ...] = (R_A,), **changes: Any
) -> TrialRecord:
    n_steps = 3 * len(R[0])
    curve = [[float(step), 1.0 / (1 + step), 0.5 + 0.05 * step] for step in range(n_steps)]
    content: dict[str, Any] = {
        "values": values_of(number),
        "metrics": {"acc": acc, "bwt": bwt, "forgetting": -bwt},
        "seeds": tuple(range(len(R))),
        "R": R,
        "curves": (curve,) * len(R),
        "seconds": 60.0 + number,
    }
    return TrialRecord(number, f"key{number}", state="finished", **{**content, **changes})


def failed(number: int, reason: str) -> TrialRecord:
    return TrialRecord(number, f"key{number}", values_of(number), "failed", reason=reason)


def rerun(number: int, configuration: int, seed: int, acc: float, bwt: float) -> TrialRecord:
    values = {"configuration": configuration, "seed": seed}
    metrics = {"acc": acc, "bwt": bwt}
    return TrialRecord(number, "t", values, "finished", metrics, (seed,), (R_B,), (), 30.0)


TRIALS = [
    finished(0, 0.88, -0.05),
    finished(1, 0.91, -0.035, R=(R_A, R_B)),
    finished(2, 0.94, -0.02, R=(R_B,)),
    finished(3, 0.80, -0.01),
    finished(4, 0.85, -0.03),
    failed(5, f"Diverged: {HOSTILE}"),
    failed(6, f"Diverged: {HOSTILE}"),
    failed(7, "OutOfMemory"),
    TrialRecord(8, "key8", values_of(8), "stopped", seconds=10.0),
    TrialRecord(9, "key9", values_of(9), "running"),
]
TESTS = [
    rerun(0, 2, 100, 0.93, -0.02),
    rerun(1, 2, 101, 0.95, -0.04),
    rerun(2, 2, 102, 0.97, -0.06),
    rerun(3, 1, 100, 0.90, -0.01),
    TrialRecord(4, "t", {"configuration": 1, "seed": 101}, "failed", reason="OutOfMemory"),
]
ABOUT = {"commit": "0123abc", HOSTILE: HOSTILE}


class Page(HTMLParser):
    """Reads a page: its tags, its visible text, and whether every tag is closed."""

    VOID = {"meta", "link", "br"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.is_balanced = True
        self.feed(text.replace(plotly.offline.get_plotlyjs(), ""))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.is_balanced &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def ids(self) -> set[str | None]:
        return {attributes.get("id") for _, attributes in self.tags}


@pytest.fixture(scope="module")
def report() -> Report:
    return render(sweep_of(repeats=2), TRIALS, TESTS, ABOUT)


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(report.html)


def rendered(trials: Sequence[TrialRecord], sweep: Sweep | None = None) -> Page:
    return Page(render(sweep or sweep_of(), trials, [], {}).html)


# The page


def test_every_tag_of_the_page_is_closed(page: Page) -> None:
    assert page.is_balanced and page.open == []


def test_the_page_loads_nothing_from_elsewhere(page: Page) -> None:
    loaded = [
        value
        for tag, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "srcset") or (name == "href" and tag != "a")
    ]
    assert loaded == ["data:,"]  # an empty icon, so that none is asked for
    assert not re.search(r"url\(|@import", (FOLDER / "page.css").read_text())


def test_plotly_is_there_once_and_sends_nothing(report: Report, page: Page) -> None:
    assert report.html.count("plotly.js v") == 1
    n_plots = len([a for _, a in page.tags if "plotly-graph-div" in (a.get("class") or "")])
    assert report.html.count('"showSendToCloud": false') == n_plots > 4


@pytest.mark.parametrize(
    "part",
    ["best", "test", "ranking", "matrices", "search", "curves", "failed", "rerun"]
    + ["plot-matrices", "plot-trade-off", "plot-history-acc", "plot-parallel"]
    + ["plot-sensitivity-acc", "plot-curves"],
)
def test_a_part_of_the_page_is_there(page: Page, part: str) -> None:
    assert part in page.ids()


def test_links_inside_the_page_lead_somewhere(page: Page) -> None:
    links = [a["href"] or "" for tag, a in page.tags if tag == "a"]
    assert links and {link.removeprefix("#") for link in links} <= page.ids()


def test_hostile_text_stays_text(report: Report, page: Page) -> None:
    assert "alert('x')</script>" not in report.html
    assert page.text.count(HOSTILE) == 5  # two rows, one reason, both sides of `about`
    assert "<script>" not in report.markdown


def test_a_hostile_value_of_a_choice_stays_text_in_the_figures() -> None:
    space = {"method.name": {"choice": [HOSTILE, "b"]}, "layers.rho": {"grid": [1, 2]}}
    trials = [
        finished(n, 0.9 + n / 100, 0.0, values={"method.name": (HOSTILE, "b")[n % 2]})
        for n in range(5)
    ]
    html = render(sweep_of(space), trials, [], {}).html
    assert "<script>alert" not in html and Page(html).is_balanced


def test_the_word_for_what_matters_is_sensitivity(report: Report) -> None:
    ours = report.html.replace(plotly.offline.get_plotlyjs(), "")
    assert "Sensitivity of ACC" in ours and "mportance" not in ours + report.markdown


def test_the_headline_tells_what_and_how_many(page: Page) -> None:
    assert "lra, ppbi on split_mnist (2 tasks)" in page.text
    assert "5 finished, 3 failed, 1 stopped, 1 running; 5 min 20 s of training" in page.text


def test_the_headline_gives_validation_test_and_paper(page: Page) -> None:
    assert "Validation 94.00% BWT -2.00% trial 2, 1 seed" in page.text
    assert "Test 95.00 ± 2.00% BWT -4.00 ± 2.00% 3 new seeds" in page.text
    assert "Paper, LRA (Var.) 99.32% BWT -0.04%" in page.text
    assert "our test less theirs: -4.32 / -3.96 points" in page.text
    assert "Not the paper's protocol: epochs 3 (paper: 250)" in page.text


def test_the_ranking_shows_the_best_first_and_reasons_last(page: Page) -> None:
    ranking = page.text.split("Ranked trials")[1]
    assert "1 2 finished 94.00 -2.00 lra 3e-05 – 0.0001 -10 – 1 min 2 s 2 1 finished" in ranking
    assert "2 1 finished 91.00 ± 4.24 -3.50 ± 2.12 lra" in ranking
    assert "– 7 failed – – lra" in ranking and "OutOfMemory" in ranking


def test_the_failures_are_grouped_by_reason(page: Page) -> None:
    said = page.text.split("What failed and why")[1]
    assert said.startswith(f" 2 trials (5, 6) Diverged: {HOSTILE}")
    assert "1 trial (7), 1 test rerun OutOfMemory" in said


def test_the_commands_and_the_file_are_there(page: Page) -> None:
    said = page.text.split("Everything needed to rerun")[1]
    assert "python -m sweeper.launch lra_or_ppbi.yaml" in said
    assert "layers.is_noisy=null --split test --seed 100" in said
    assert "commit 0123abc" in said and "sampler: random" in said


# Unusual sweeps


def test_without_trials_the_page_says_so() -> None:
    page = rendered([])
    assert "No trial has finished" in page.text and "There are no trials." in page.text
    assert "plot-trade-off" not in page.ids() and page.is_balanced


def test_with_failed_trials_only_the_page_says_why() -> None:
    page = rendered([failed(0, "no memory")])
    assert "No trial has finished" in page.text and "1 trial (0) no memory" in page.text


def test_one_trial_has_its_matrix_and_curve_and_no_comparison() -> None:
    page = rendered(TRIALS[:1])
    plots = {name for name in page.ids() if name and name.startswith("plot-")}
    assert plots == {"plot-matrices", "plot-curves"}
    assert "it takes at least 4 finished trials, and there are 1." in page.text


def test_one_parameter_has_no_sensitivity() -> None:
    space = {"method.tau_0": {"log_uniform": [1e-9, 1.0]}}
    trials = [finished(n, 0.5 + n / 100, 0.0, values={"method.tau_0": 10.0**-n}) for n in range(9)]
    page = rendered(trials, sweep_of(space))
    assert "it takes 2 parameters with more than one value, and there are 1." in page.text
    assert "plot-parallel" in page.ids()


def test_a_fixed_run_has_no_plots_of_parameters() -> None:
    page = rendered([finished(n, 0.5, 0.0, values={}) for n in range(4)], sweep_of({}))
    assert "it takes a parameter with more than one value, and there are 0." in page.text


def test_many_ties_leave_the_sensitivity_out() -> None:
    page = rendered([finished(n, 0.9 if n == 0 else 0.8, 0.0) for n in range(6)])
    assert "so many trials tie that none can be called the best." in page.text


def test_two_objectives_have_a_history_and_a_sensitivity_each() -> None:
    page = rendered(TRIALS, sweep_of(objective=["acc", "bwt"]))
    both = {f"plot-{plot}-{m}" for plot in ("history", "sensitivity") for m in ("acc", "bwt")}
    assert both <= page.ids()


def test_two_hundred_trials_of_ten_tasks_are_rendered() -> None:
    R: Matrix = [[0.9 if i <= t else None for i in range(10)] for t in range(10)]
    trials = [finished(n, 0.5 + n / 1000, -n / 2000, R=(R,)) for n in range(200)]
    page = rendered(trials)
    assert page.is_balanced and "1 199 finished 69.90" in page.text.split("Ranked trials")[1]


def test_matrices_and_curves_may_be_missing() -> None:
    page = rendered([finished(n, 0.9 + n / 100, 0.0, curves=()) for n in range(2)])
    assert "no finished trial has a learning curve" in page.text


# Numbers


def test_the_deviation_is_over_n_less_one() -> None:
    value = measured([0.93, 0.95, 0.97])
    assert (value.mean, value.n) == (pytest.approx(0.95), 3)
    assert value.deviation == pytest.approx(0.02)  # sqrt((0.02^2 + 0 + 0.02^2) / 2)


def test_one_run_has_no_deviation() -> None:
    assert measured([0.9]).deviation is None


def test_the_deviation_over_repeats_comes_from_their_matrices() -> None:
    scores = over_seeds(TRIALS[1])
    assert scores["acc"].deviation == pytest.approx(statistics.stdev([0.88, 0.94]))
    assert scores["bwt"].deviation == pytest.approx(statistics.stdev([-0.05, -0.02]))


def test_the_front_of_acc_and_bwt_is_found() -> None:
    facts = facts_of(sweep_of(), TRIALS, [])
    assert [trial.number for trial in facts.front] == [2, 3]


def test_test_results_are_ordered_as_the_ranking_and_count_failed_reruns() -> None:
    facts = facts_of(sweep_of(), TRIALS, list(reversed(TESTS)))
    assert [(r.configuration, r.acc.n, r.n_failed) for r in facts.tests] == [(2, 3, 0), (1, 1, 1)]


# Texts


@pytest.mark.parametrize(
    ("value", "is_signed", "text"),
    [(0.9923, False, "99.23%"), (-0.0016, True, "-0.16%"), (0.0002, True, "+0.02%")]
    + [(-0.000001, True, "0.00%"), (None, True, "–")],
)
def test_fractions_read_as_percentages(value: float | None, is_signed: bool, text: str) -> None:
    assert percent(value, is_signed) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (7200, "2 h"), (90061, "1 d 1 h")],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_names_are_short_where_that_is_clear() -> None:
    paths = ["method.name", "method.tau_0", "layers.rho", "a.size", "b.size"]
    assert list(short_names(paths).values()) == ["method", "tau_0", "rho", "a.size", "b.size"]


def test_a_command_can_be_pasted_into_a_shell() -> None:
    trial = finished(0, 0.9, 0.0, values={"method.tau_0": 1e-05, "method.measure": "a b"})
    [command] = run_commands("x.yaml", trial, ())
    expected = "python -m mpnet x.yaml method.tau_0=1.0e-05 'method.measure=a b' --seed 0"
    assert command == expected


# Markdown and CSV


def test_the_markdown_has_the_same_numbers(report: Report) -> None:
    assert "| **test** | **95.00 ± 2.00%** | **-4.00 ± 2.00%** | 3 seeds |" in report.markdown
    assert "| task 2 | 90.00 | 98.00 |" in report.markdown
    assert "| 1 | 2 | finished | 94.00 | -2.00 | lra |" in report.markdown


def test_every_row_of_a_markdown_table_has_the_columns_of_its_head(report: Report) -> None:
    width = 0
    for line in report.markdown.split("\n"):
        n_bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert n_bars == width or not (n_bars and width)
        width = n_bars


def test_the_csv_gives_the_records_back(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(report.csv)))
    assert [int(row["number"]) for row in rows] == list(range(10))
    assert float(rows[1]["acc"]) == 0.91 and rows[1]["seeds"] == "0 1"
    assert float(rows[1]["method.alpha_max"]) == TRIALS[1].values["method.alpha_max"]
    assert rows[0]["method.alpha_max"] == "" and rows[5]["reason"] == f"Diverged: {HOSTILE}"


def test_the_same_records_give_the_same_report(report: Report) -> None:
    assert render(sweep_of(repeats=2), TRIALS, TESTS, ABOUT) == report


# The command line


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """A ledger module that knows one sweep."""
    known = types.SimpleNamespace(
        sweep=sweep_of(), records=lambda: TRIALS, test_records=lambda: TESTS
    )
    module = types.ModuleType("sweeper.ledger")
    module.open_ledger = lambda folder: known  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sweeper.ledger", module)
    return known


@pytest.mark.usefixtures("ledger")
def test_the_files_are_written_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 0
    written = [tmp_path / name for name in ("report.html", "report.md", "trials.csv")]
    assert capsys.readouterr().out.split("\n")[:-1] == [str(path) for path in written]
    assert "lra_or_ppbi" in written[0].read_text(encoding="utf-8")


def test_an_unknown_folder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere: the output folder of a sweep must be there" in capsys.readouterr().err


def test_a_folder_without_a_sweep_is_refused(
    ledger: types.SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse() -> list[TrialRecord]:
        raise SweepError("no sweep here")

    ledger.records = refuse
    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err == "no sweep here\n"


def test_the_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m sweeper.report sweeps/" in capsys.readouterr().out
