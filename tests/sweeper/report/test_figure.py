"""How all figures of a page look."""

import plotly.graph_objects as go
import plotly.offline
import pytest

from sweeper.report.figure import Figure, div
from tests.sweeper.records import Page
from tests.sweeper.report.pages import drawn

POINTS = {"x": [1, 2], "y": [3, 4]}


def figure(**layout: object) -> Figure:
    chart = go.Figure(go.Scatter(**POINTS), layout=layout)
    return Figure("trend", "A trend", "Up.", div(chart, "trend", 300))


def test_the_html_has_the_name_as_its_anchor_and_not_plotlys_script() -> None:
    shown = figure().div
    assert "plot-trend" in Page(shown).ids()
    assert plotly.offline.get_plotlyjs()[:1000] not in shown


def test_nothing_is_sent_anywhere() -> None:
    shown = figure().div
    assert '"showSendToCloud": false' in shown
    assert "http" not in shown


def test_what_is_drawn_comes_back_with_its_height_and_without_a_title() -> None:
    (trace,), layout = drawn(figure(title="not shown: the page has it"))
    assert (trace["x"], trace["y"]) == (POINTS["x"], POINTS["y"])
    assert layout["height"] == 300
    assert "title" not in layout or not layout["title"].get("text")


@pytest.mark.parametrize(("asked", "top"), [({}, 40), ({"margin": {"t": 7}}, 7)])
def test_margins_that_a_figure_asks_for_are_kept(asked: dict[str, object], top: int) -> None:
    _, layout = drawn(figure(**asked))
    assert layout["margin"]["t"] == top
