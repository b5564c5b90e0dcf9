"""Parallel coordinates: what matters first, the best on top, equal values side by side."""

import random
from typing import Any

import plotly.graph_objects as go
import pytest

from sweeper.config.space import Domain
from sweeper.report.coordinates import chart, metric_axis, parameter_axis
from sweeper.report.search_figures import parallel
from sweeper.results.facts import facts_of
from sweeper.results.records import TrialRecord
from tests.sweeper.records import finished, sweep_of
from tests.sweeper.report.pages import drawn

SPACE: dict[str, Any] = {f"a.p{n}": {"uniform": [0, 1]} for n in range(11)}
SPACE["a.kind"] = {"choice": ["x", "y"]}


def domain(kind: str, *values: Any) -> Domain:
    return Domain(kind, values, {})


def trial(number: int, acc: float, **values: Any) -> TrialRecord:
    return finished(number, acc, 0.0, values=values)


def lines(figure: go.Figure, name: str) -> list[list[float]]:
    """The heights of each line of a group."""
    (trace,) = [trace for trace in figure.data if trace.name == name]
    found: list[list[float]] = [[]]
    for y in trace.y:
        found[-1].append(y) if y is not None else found.append([])
    return [line for line in found if line]


@pytest.mark.parametrize(
    ("about", "heights"),
    [
        (domain("uniform", 2.0, 4.0), {2.0: 0.0, 2.5: 0.25, 4.0: 1.0}),
        (domain("log_uniform", 1e-4, 1.0), {1e-4: 0.0, 1e-3: 0.25, 1.0: 1.0}),
        (domain("int", 0, 10), {0: 0.0, 5: 0.5, 10: 1.0}),
        (domain("grid", 1e-2, 1e-8, 1e-3), {1e-8: 0.0, 1e-3: 0.5, 1e-2: 1.0}),
        (domain("choice", True, None, "b"), {True: 0.0, None: 0.5, "b": 1.0}),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_value_has_its_place_on_the_axis(about: Domain, heights: dict[Any, float]) -> None:
    axis = parameter_axis("p", "a.p", about)
    for value, height in heights.items():
        assert axis.height(trial(3, 0.5, **{"a.p": value}), True) == pytest.approx(height)
    assert {0.0, 1.0} <= {round(axis.place(tick), 6) for tick in axis.ticks}
    assert len(axis.ticks) <= 10


def test_a_parameter_that_a_trial_does_not_have_is_below_its_axis() -> None:
    axis = parameter_axis("p", "a.p", domain("choice", None, 1))
    assert axis.height(trial(0, 0.5), True) < -0.05
    assert axis.height(trial(0, 0.5, **{"a.p": None}), True) == 0.0
    figure = chart([axis], [trial(0, 0.5), trial(1, 0.4, **{"a.p": 1})])
    assert "not there" in [note.text for note in figure.layout.annotations]


def test_lines_with_the_same_value_lie_side_by_side_but_the_best_is_exact() -> None:
    trials = [trial(n, 0.9 - n / 100, **{"a.p": "x"}) for n in range(20)]
    figure = chart([parameter_axis("p", "a.p", domain("choice", "x", "y"))], trials)
    others = [
        y for name in ("best tenth", "better half", "other half") for (y,) in lines(figure, name)
    ]
    assert len(set(others)) == 19 and max(map(abs, others)) <= 0.05
    assert lines(figure, "best") == [[0.0]]


def test_the_better_is_drawn_later_and_the_best_last() -> None:
    trials = [trial(n, 0.9 - n / 100, **{"a.p": n / 40}) for n in range(40)]
    axes = [
        metric_axis("ACC (%)", "acc", trials),
        parameter_axis("p", "a.p", domain("uniform", 0, 1)),
    ]
    figure = chart(axes, trials)
    assert [trace.name for trace in figure.data] == [
        "other half",
        "better half",
        "best tenth",
        "best",
    ]
    assert [len(lines(figure, trace.name)) for trace in figure.data] == [20, 16, 3, 1]
    assert lines(figure, "best") == [[1.0, 0.0]]
    assert lines(figure, "other half")[-1][0] == 0.0


@pytest.mark.parametrize("n_trials", [2, 3, 11])
def test_every_trial_has_a_line(n_trials: int) -> None:
    trials = [trial(n, 0.5, **{"a.p": n / 40}) for n in range(n_trials)]
    figure = chart([metric_axis("ACC (%)", "acc", trials)], trials)
    assert sum(len(lines(figure, trace.name)) for trace in figure.data) == n_trials


def test_five_hundred_trials_of_twelve_parameters_have_their_axes_by_sensitivity() -> None:
    draw = random.Random(0)
    trials = []
    for number in range(500):
        values = {path: draw.random() for path in SPACE if path != "a.kind"}
        values["a.kind"] = draw.choice("xy")
        acc = 0.4 + 0.4 * values["a.p7"] + 0.1 * (values["a.kind"] == "y")
        trials.append(finished(number, acc, 0.0, values=values))
    figure = parallel(facts_of(sweep_of(SPACE), trials, []))
    traces, layout = drawn(figure)
    heads = [text.replace("<br>", "").strip() for text in layout["xaxis"]["ticktext"]]
    assert heads[:3] == ["ACC (%)", "p7", "kind"] and len(heads) == 13
    assert len(traces) == 4  # not one for each trial, which a browser would be slow with
    assert len(figure.div) < 1_500_000
