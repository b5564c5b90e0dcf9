"""Figures of a search: what is drawn, and why one is left out."""

import math

import pytest

from sweeper.report.rendering import render
from sweeper.report.search_figures import MOST_DRAWN, history, parallel, slices, trade_off
from sweeper.results.facts import facts_of
from tests.sweeper.records import HOSTILE, TESTS, TRIALS, Page, failed, finished, sweep_of
from tests.sweeper.report.pages import drawn, rendered


def test_a_hostile_value_of_a_choice_stays_text_in_the_figures() -> None:
    space = {"method.name": {"choice": [HOSTILE, "b"]}, "layers.rho": {"grid": [1, 2]}}
    trials = [
        finished(n, 0.9 + n / 100, 0.0, values={"method.name": (HOSTILE, "b")[n % 2]})
        for n in range(5)
    ]
    html = render(facts_of(sweep_of(space), trials, []), {}).html
    assert "<script>alert" not in html and Page(html).is_balanced


# The trade-off


@pytest.fixture(scope="module")
def shown() -> dict[str, set[tuple[float, float]]]:
    """The points of each name: BWT and ACC in percent."""
    traces, _ = drawn(trade_off(facts_of(sweep_of(repeats=2), TRIALS, TESTS)))
    return {trace["name"]: set(zip(trace["x"], trace["y"], strict=True)) for trace in traces}


def test_the_front_is_of_those_trials_that_none_beats(
    shown: dict[str, set[tuple[float, float]]],
) -> None:
    trials = {(100 * t.metrics["bwt"], 100 * t.metrics["acc"]) for t in TRIALS if t.metrics}
    unbeaten = {
        one
        for one in trials
        if not any(other[0] >= one[0] and other[1] >= one[1] for other in trials - {one})
    }
    assert (shown["trial"], shown["Pareto front"]) == (trials, unbeaten)


def test_the_best_the_tests_and_the_papers_cell_have_marks_of_their_own(
    shown: dict[str, set[tuple[float, float]]],
) -> None:
    assert shown["best"] == {(-2.0, 94.0)}
    assert sorted(shown["test, mean over seeds"]) == [
        pytest.approx((-4.0, 95.0)),
        pytest.approx((-1.0, 90.0)),
    ]
    assert list(shown["paper, LRA (Var.)"]) == [pytest.approx((-0.04, 99.32))]


# Slices


def test_each_parameter_has_a_slice_of_the_trials_that_have_it() -> None:
    space = {"method.tau": {"log_uniform": [1e-9, 1.0]}, "method.name": {"choice": ["a", "b"]}}
    values = [{"method.name": "a", "method.tau": 1e-3}, {"method.name": "b"}]
    trials = [finished(n, 0.5 + n / 10, 0.0, values=one) for n, one in enumerate(values)]
    traces, layout = drawn(slices(facts_of(sweep_of(space), trials, []), "acc"))
    points = [(*trace["x"], *trace["y"]) for trace in traces]
    assert {point for point in points if point} == {("a", 50.0), ("b", 60.0), (0.001, 50.0)}
    titles = {layout[axis]["title"]["text"]: layout[axis] for axis in ("xaxis", "xaxis2")}
    assert titles["tau"]["type"] == "log" and "type" not in titles["method"]


@pytest.mark.parametrize(
    ("domain", "ticks"),
    [
        ({"log_uniform": [2e-3, 8e-3]}, ["0.002", "0.004", "0.008"]),
        ({"log_uniform": [1e-6, 1e-2]}, None),
        ({"uniform": [1e-3, 9e-3]}, None),
    ],
)
def test_an_axis_shows_both_ends_of_what_was_searched(
    domain: dict[str, list[float]], ticks: list[str] | None
) -> None:
    trials = [finished(n, 0.5, 0.0, values={"method.tau": x}) for n, x in enumerate((3e-3, 5e-3))]
    facts = facts_of(sweep_of({"method.tau": domain}), trials, [])
    axis = drawn(slices(facts, "acc"))[1]["xaxis"]
    (ends,) = domain.values()
    if axis.get("type") == "log":
        ends = [math.log10(end) for end in ends]
    (low, high), length = axis["range"], ends[1] - ends[0]
    assert ends[0] - length / 10 < low < ends[0] and ends[1] < high < ends[1] + length / 10
    assert axis.get("ticktext") == ticks


# History


def test_the_history_has_every_finished_trial_by_its_number_and_the_best_so_far() -> None:
    scores = {0: 0.5, 2: 0.8, 3: 0.7, 7: 0.9}
    trials = [finished(number, acc, -acc / 10) for number, acc in scores.items()]
    facts = facts_of(sweep_of(), [*trials, failed(1, "no memory")], [])
    (points, best), _ = drawn(history(facts, "acc"))
    assert list(points["x"]) == list(best["x"]) == list(scores)
    assert points["y"] == pytest.approx([100 * acc for acc in scores.values()])
    assert best["y"] == pytest.approx([50, 80, 80, 90])
    (points, _), _ = drawn(history(facts, "bwt"))
    assert points["y"] == pytest.approx([-5, -8, -7, -9])


# What is left out


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
    assert "2 trials on the Pareto front of ACC and BWT; shown is the one with the best ACC." in (
        page.text
    )


# Many trials


def test_figures_of_many_trials_are_thinned_and_say_so() -> None:
    trials = [
        finished(n, (n * 7919 % 5003) / 5003, -n / 5003, values={"method.tau_0": 10.0 ** -(n % 9)})
        for n in range(2 * MOST_DRAWN + 1)
    ]
    space = {"method.tau_0": {"log_uniform": [1e-9, 1.0]}}
    facts = facts_of(sweep_of(space), trials, [])
    traces, _ = drawn(trade_off(facts))
    points = {trace["name"]: list(zip(trace["x"], trace["y"], strict=True)) for trace in traces}
    assert len(points["trial"]) <= MOST_DRAWN
    assert points["best"][0] in points["trial"]
    assert f"Evenly thinned: {len(points['trial'])} of {len(trials)} trials." in str(
        trade_off(facts).caption
    )
    lines, _ = drawn(history(facts, "acc"))
    best = max(trial.metrics["acc"] for trial in trials)
    assert max(lines[1]["y"]) == pytest.approx(100 * best)
    assert MOST_DRAWN / 2 < len(lines[0]["x"]) < len(trials)
    clouds, _ = drawn(slices(facts, "acc"))
    assert max(len(cloud["x"]) for cloud in clouds) <= MOST_DRAWN
    bundles, _ = drawn(parallel(facts))
    assert sum(bundle["x"].count(0) for bundle in bundles) <= MOST_DRAWN
