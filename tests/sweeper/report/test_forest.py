"""The picture of differences: what is drawn where."""

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
from matplotlib.colors import same_color

from sweeper.report.forest import forest, svg
from sweeper.results.comparison import Difference, Pair
from tests.sweeper.groups import FT, LRA, PPBI

BETTER, UNCLEAR, WORSE = (
    Difference(0.02, 0.01, 5),
    Difference(0.01, 0.02, 5),
    Difference(-0.2, 0, 5),
)
ALONE = Difference(0.03, None, 1)
PAIRS = [
    Pair(LRA, PPBI, BETTER, UNCLEAR),
    Pair(LRA, FT, WORSE, ALONE),
    Pair(PPBI, FT, BETTER, BETTER),
]


@pytest.fixture(scope="module")
def panels() -> list[Any]:
    return list(forest(PAIRS).axes)


def dots(axes: Any) -> list[Any]:
    return [line for line in axes.lines if line.get_marker() == "o"]


def bars(axes: Any) -> list[list[float]]:
    lines = [line for line in axes.lines if line.get_marker() != "o"]
    return [
        [float(x) for x in line.get_xdata()] for line in lines if len(set(line.get_ydata())) == 1
    ]


def test_there_is_a_row_for_each_pair_from_top_to_bottom(panels: list[Any]) -> None:
    assert [label.get_text() for label in panels[0].get_yticklabels()] == [
        "lra var  −  ppbi var",
        "lra var  −  ft",
        "ppbi var  −  ft",
    ]
    heights = [float(dot.get_ydata()[0]) for dot in dots(panels[0])]
    assert heights == [0.0, 1.0, 2.5]  # another first group: a gap
    assert panels[0].yaxis_inverted()


def test_dots_are_means_in_points_and_bars_their_intervals(panels: list[Any]) -> None:
    assert [float(dot.get_xdata()[0]) for dot in dots(panels[0])] == pytest.approx([2, -20, 2])
    assert bars(panels[0])[0] == pytest.approx([1, 3])
    assert bars(panels[1])[0] == pytest.approx([-1, 3])


def test_one_pair_of_runs_has_a_dot_without_a_bar(panels: list[Any]) -> None:
    assert len(dots(panels[1])) == 3
    assert len(bars(panels[1])) == 2


def test_only_what_is_clear_of_zero_is_filled_and_better_and_worse_have_colours(
    panels: list[Any],
) -> None:
    better, worse, _ = dots(panels[0])
    unclear, alone, _ = dots(panels[1])
    faces = [dot.get_markerfacecolor() for dot in (better, worse, unclear, alone)]
    assert not same_color(faces[0], faces[1])
    assert same_color(faces[2], "white") and same_color(faces[3], "white")


def test_the_text_is_a_picture_and_the_same_each_time() -> None:
    text = svg(forest(PAIRS))
    assert ElementTree.fromstring(text).tag.endswith("svg")
    assert svg(forest(PAIRS)) == text


def test_hostile_names_are_drawn_as_they_are() -> None:
    group = (("method.name", "<script>$\\frac$ & x_1"),)
    drawn = ElementTree.fromstring(svg(forest([Pair(group, FT, BETTER, BETTER)])))
    assert drawn.tag.endswith("svg")
