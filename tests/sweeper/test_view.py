"""What a person sees, rendered to text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sweeper.ledger import Ledger, search_of
from sweeper.records import State, TrialRecord
from sweeper.study import Study
from sweeper.sweep import parse_sweep
from sweeper.view import Plan, View, plan_table, ranking_table

HOSTILE = "[red]no[/] [/bold] [Errno 2] :smile:"


def text_of(shown: Any) -> str:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


def trial(
    number: int,
    acc: float = 0.5,
    state: State = "finished",
    values: Mapping[str, Any] | None = None,
    reason: str | None = None,
) -> TrialRecord:
    metrics = {"acc": acc, "bwt": -acc / 10} if state == "finished" else {}
    chosen = values or {"method.tau_0": 1e-5 * (number + 1)}
    return TrialRecord(number, f"k{number}", chosen, state, metrics, seconds=12.0, reason=reason)


# Tables


def plan(**changes: Any) -> Plan:
    content: dict[str, Any] = {
        "name": "s",
        "trials": 10,
        "left": 10,
        "reruns": 6,
        "repeats": 1,
        "seconds": 60.0,
        "source": "a guess",
        "at_once": 4,
        "share": "1 CPUs and 0 GPUs",
        "sampler": "tpe",
        "places": {"files": "/sweeps/s"},
    }
    return Plan(**{**content, **changes})


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, (3 + 2) * 60),
        ({"at_once": 1}, 16 * 60),
        ({"left": 0}, 2 * 60),
        ({"left": 8, "reruns": 0}, 2 * 60),
        ({"repeats": 2}, 3 * 60 + 2 * 30),
    ],
)
def test_trials_come_in_waves_and_a_rerun_is_one_repeat(
    changes: dict[str, Any], seconds: float
) -> None:
    assert plan(**changes).wall_seconds == seconds


def test_the_plan_says_what_it_will_take() -> None:
    text = text_of(plan_table(plan(left=8, repeats=3)))
    for words in (
        "Plan of s",
        "10 by tpe, 2 of them done, each with 3 seeds, on validation data",
        "6 reruns of the best on the test sets",
        "1 min (a guess)",
        "4 trials at once, each with 1 CPUs and 0 GPUs",
        "/sweeps/s",
    ):
        assert words in text


def test_the_plan_says_that_the_best_of_each_group_are_rerun() -> None:
    text = text_of(plan_table(plan(reruns=75, each=("method.name", "method.measure"))))
    assert "at most 75 reruns on the test sets, of the best of each method.name and" in text


def test_the_ranking_shows_the_best_first_and_counts_the_rest() -> None:
    trials = [
        *(trial(number, number / 20) for number in range(12)),
        trial(12, state="failed"),
        trial(13, state="interrupted"),
    ]
    lines = text_of(ranking_table(trials, ["acc"])).splitlines()
    rows = [line for line in lines if "%" in line]
    assert len(rows) == 10
    assert [part for part in rows[0].split() if part[0].isdigit()][:2] == ["1", "11"]
    assert "55.00%" in rows[0]
    assert "-5.50%" in rows[0]
    assert "2 more finished; 12 finished, 1 failed" in lines[-1]


def test_a_value_that_a_trial_does_not_have_is_left_out() -> None:
    trials = [trial(0, 0.9, values={"a": 1}), trial(1, 0.8, values={"b": None})]
    rows = [line for line in text_of(ranking_table(trials, ["acc"])).splitlines() if "%" in line]
    assert "None" not in rows[0]
    assert "None" in rows[1]


def test_a_ranking_without_finished_trials_is_empty() -> None:
    assert "1 failed" in text_of(ranking_table([trial(0, state="failed")], ["acc"]))


@pytest.mark.parametrize(
    "table",
    [
        plan_table(plan(name=HOSTILE)),
        plan_table(plan(places={"files": HOSTILE})),
        ranking_table([trial(0, values={"x": HOSTILE})], ["acc"]),
        ranking_table([trial(0, values={HOSTILE: 1})], ["acc"]),
    ],
)
def test_brackets_are_shown_as_they_are(table: Any) -> None:
    assert HOSTILE in text_of(table)


# While it runs


@pytest.fixture
def study(tmp_path: Path) -> Study:
    blocks = {
        "run": {},
        "space": {"method.name": {"grid": ["lra", HOSTILE]}, "x": {"int": [1, 2]}},
        "sweep": {"sampler": "grid"},
    }
    ledger, sweep = Ledger(tmp_path), parse_sweep(blocks, "s")
    ledger.begin(sweep)
    return ledger.open(search_of(sweep))


def start(study: Study) -> int:
    trial = study.study.ask()
    assert study.accept(trial.number, study.suggest(trial))
    return trial.number


def finish(study: Study, acc: float) -> int:
    number = start(study)
    study.finish(number, {"metrics": {"acc": acc, "bwt": -0.1}})
    return number


def test_in_a_pipe_there_is_one_line_for_each_end(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    with View(Console(width=100), "search", study, 2, 10) as shown_view:
        number = finish(study, 0.9)
        shown_view.started(number, {"x": 1})
        shown_view.reported(number, {"step": 5, "score": 0.5})
        shown_view.ended(number, "finished")
        number = start(study)
        study.fail(number, f"OSError: {HOSTILE}")
        shown_view.ended(number, "failed")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "[search 1/4] trial 0 finished: ACC 90.00%  BWT -10.00%  method=lra  x=1  ("
    )
    assert second.startswith(
        f"[search 2/4] trial 1 failed: OSError: {HOSTILE}  method=lra  x=2  ("
    )


def test_the_last_line_does_not_say_how_long_is_left(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    with View(Console(width=100), "search", study, 2, 10) as shown_view:
        for acc in (0.1, 0.2, 0.3, 0.4):
            shown_view.ended(finish(study, acc), "finished")
    assert "left" not in capsys.readouterr().out.splitlines()[-1]


def test_the_live_view_shows_counts_the_best_and_what_runs(study: Study) -> None:
    before = finish(study, 0.7)
    live = View(Console(), "search", study, 2, 10)
    assert "time left unknown yet" in text_of(live)
    live.ended(finish(study, 0.9), "finished")
    live.ended(finish(study, 0.8), "finished")
    running = start(study)
    live.started(running, {"method.name": HOSTILE, "x": 2})
    assert "starting" in text_of(live)
    live.reported(running, {"step": 5, "score": 0.25})
    text = text_of(live)
    assert "3/4 done, 1 running, 0 failed" in text
    assert f"best so far: ACC 90.00%  BWT -10.00%  trial {before + 1}" in text
    assert "25.00%" in text
    assert HOSTILE in text


def test_before_the_first_end_nothing_is_best(study: Study) -> None:
    assert "no trial has finished yet" in text_of(View(Console(), "search", study, 1, 1))


def test_a_report_after_the_end_changes_nothing(study: Study) -> None:
    live = View(Console(quiet=True), "search", study, 1, 1)
    live.reported(7, {"step": 1})
    assert live.running == {}
