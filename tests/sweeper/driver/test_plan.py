"""What sweeps will take, worked out by hand and rendered to text."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from mpnet.config import parse_run
from sweeper.config.sweep import parse_sweep
from sweeper.driver.cluster import Share
from sweeper.driver.plan import Plan, _cost, most_at_once, plan_table, queue_table
from sweeper.driver.preparation import OpenedSweep, PreparedSweep
from sweeper.ledger import Ledger

HOSTILE = "[red]no[/] [/bold] [Errno 2] :smile:"


def text_of(shown: Any) -> str:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


FOUR = Share(1, 0, 4)


def prepared(name: str = "s", share: Share = FOUR, **blocks: Any) -> PreparedSweep:
    space = {"x": {"uniform": [0, 1]}, **blocks.pop("space", {})}
    settings = {"trials": 10, **blocks.pop("sweep", {})}
    select = {"top": 2, "seeds": 3, **blocks.pop("select", {})}
    sweep = parse_sweep({"run": {}, "space": space, "sweep": settings, "select": select}, name)
    opened = OpenedSweep(sweep, Ledger(Path("/sweeps/s")))
    return PreparedSweep(opened, "sqlite:////sweeps/s/mlflow.db", [], share)


def plan(left: int = 10, at_once: int = 4, **about: Any) -> Plan:
    return Plan(prepared(**about), left, 60.0, "a guess", at_once, "this machine")


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, (3 + 2) * 60),
        ({"at_once": 1}, 16 * 60),
        ({"left": 0}, 2 * 60),
        ({"left": 8, "select": {"top": 0}}, 2 * 60),
        ({"sweep": {"repeats": 2}}, 3 * 60 + 2 * 30),
    ],
)
def test_trials_come_in_waves_and_a_rerun_is_one_repeat(
    changes: dict[str, Any], seconds: float
) -> None:
    assert plan(**changes).wall_seconds == seconds


def test_the_plan_says_what_it_will_take() -> None:
    text = text_of(plan_table(plan(left=8, sweep={"repeats": 3})))
    for words in (
        "Plan of s",
        "10 by tpe, 2 of them done, each with 3 seeds, on validation data",
        "6 reruns of the best on the test sets",
        "1 min (a guess)",
        "4 trials at once, each with 1 CPU and 0 GPUs, on this machine",
        "/sweeps/s",
    ):
        assert words in text


def test_the_plan_says_why_so_many_trials_share_a_gpu() -> None:
    share = Share(1, 0.25, 4, reason="measured")
    text = text_of(plan_table(plan(share=share)))
    assert "0.25 GPUs (measured), on this machine" in text


@pytest.mark.parametrize(
    ("gpu", "source"),
    [
        (0.0, "from a few steps on a CPU of this machine"),
        (0.5, "from a few steps on a CPU of this machine, while trials run on a GPU"),
    ],
)
def test_the_cost_knows_the_device_that_it_was_measured_on(gpu: float, source: str) -> None:
    run = parse_run({"network": {"name": "mlp", "hidden": [4]}, "device": "cpu"})
    part = replace(prepared(share=Share(1, gpu, 4)), configurations=[run])
    assert _cost(part, [], 0.0)[1] == source


@pytest.mark.parametrize(
    ("sampler", "space", "words"),
    [
        ("gp", {}, "10 by gp, on"),
        ("gp", {"a": {"choice": [1, 2]}}, "10 by tpe (instead of gp: a has no order), on"),
        ("auto", {}, "10 by gp (auto: all paths are ordered, at most 250 trials), on"),
    ],
)
def test_the_plan_says_which_sampler_searches_and_why(
    sampler: str, space: dict[str, Any], words: str
) -> None:
    about: dict[str, Any] = {"sweep": {"sampler": sampler}, "space": space}
    assert words in text_of(plan_table(plan(**about)))


def test_the_plan_says_that_the_best_of_each_group_are_rerun() -> None:
    about: dict[str, Any] = {
        "space": {"a": {"choice": [1, 2]}, "b": {"choice": [1, 2]}},
        "select": {"each": ["a", "b"], "top": 1, "seeds": 5},
    }
    text = text_of(plan_table(plan(**about)))
    assert "at most 20 reruns on the test sets, of the best of each a and b" in text


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({}, "10 reruns of the best on the test sets; 4 of them on unseen class orders"),
        (
            {"space": {"a": {"choice": [1, 2]}}, "select": {"each": ["a"], "top": 1}},
            "at most 10 reruns on the test sets, of the best of each a; "
            "4 of them on unseen class orders",
        ),
    ],
)
def test_the_plan_counts_reruns_on_unseen_class_orders(about: dict[str, Any], words: str) -> None:
    select = {**about.get("select", {}), "class_orders": 2}
    shown = plan(**{**about, "select": select}, at_once=1)
    assert words in text_of(plan_table(shown))
    assert shown.wall_seconds == (10 + 10) * 60


def test_brackets_are_shown_as_they_are() -> None:
    assert HOSTILE in text_of(plan_table(plan(name=HOSTILE)))


# A queue


def test_a_queue_takes_as_long_as_all_of_it_on_all_devices() -> None:
    plans = {"a.x": plan(), "a.y": plan(left=0), "b.x": plan()}
    text = text_of(queue_table(plans, 2))
    assert "3 sweeps, 2 more are done: 20 trials, 18 reruns, 38 min in all" in text
    assert "expected 9 min 30 s from now" in text


@pytest.mark.parametrize(
    ("sampler", "n_sweeps", "settings", "most"),
    [
        ("tpe", 1, {}, 32),
        ("tpe", 2, {}, 8),
        ("tpe", 2, {"trials": 12}, 4),
        ("tpe", 2, {"concurrency": 20}, 20),
        ("random", 2, {}, 32),
        ("auto", 2, {}, 8),
    ],
)
def test_in_a_queue_a_sampler_is_given_no_more_than_it_can_learn_from(
    sampler: str, n_sweeps: int, settings: dict[str, Any], most: int
) -> None:
    share = Share(1, 0, settings.get("concurrency", 32))
    part = prepared(share=share, sweep={"sampler": sampler, "trials": 64, **settings})
    assert most_at_once(part, n_sweeps) == most


def test_the_plan_of_a_queue_says_so() -> None:
    share = Share(1, 0, 32)
    plans = {name: plan(at_once=8, name=name, share=share) for name in ("a", "b")}
    text = " ".join(text_of(queue_table(plans, 0)).split())
    assert "One queue on 32 devices; at most 8 trials at once of a sweep whose sampler" in text
