"""Differences with their intervals, one row per pair: a picture for pages and for papers."""

import io
from collections.abc import Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from sweeper.results.comparison import Difference, Pair
from sweeper.results.texts import group_name

_BETTER, _WORSE, _UNCLEAR = "#0072b2", "#d55e00", "#8b949e"  # Okabe and Ito's, and grey
_INCHES_PER_ROW, _INCHES_AROUND = 0.22, 1.0
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_PANELS = {"acc": "ACC, difference in points", "bwt": "BWT, difference in points"}


def forest(pairs: Sequence[Pair]) -> Figure:
    """Pairs from top to bottom, those with the same first group together; ACC beside BWT."""
    places = _places(pairs)
    height = _INCHES_AROUND + _INCHES_PER_ROW * (places[-1] + 1)
    figure = Figure(figsize=(10, height), layout="constrained")
    FigureCanvasSVG(figure)
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    for axes, (metric, title) in zip(panels, _PANELS.items(), strict=True):
        for place, pair in zip(places, pairs, strict=True):
            _draw(axes, place, getattr(pair, metric))
        _style(axes, title)
    names = [f"{group_name(pair.first)}  −  {group_name(pair.second)}" for pair in pairs]
    panels[0].set_yticks(places, names, fontsize=9, parse_math=False)
    panels[0].set_ylim(places[-1] + 0.7, -0.7)
    return figure


def svg(figure: Figure) -> str:
    """The picture as text, to stand in a page; the same for the same pairs."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "sweeper"}):
        figure.savefig(buffer, format="svg", metadata=_NO_METADATA)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def _places(pairs: Sequence[Pair]) -> list[float]:
    """The place of each row, half a row further where another first group begins."""
    places, place = [], -1.0
    for number, pair in enumerate(pairs):
        is_new = number > 0 and pair.first != pairs[number - 1].first
        place += 1.5 if is_new else 1.0
        places.append(place)
    return places


def _draw(axes: Axes, place: float, value: Difference) -> None:
    """A filled dot is clear of zero."""
    colour = (_BETTER if value.mean > 0 else _WORSE) if value.is_clear else _UNCLEAR
    if value.interval:
        ends = [100 * end for end in value.interval]
        axes.plot(ends, [place, place], color=colour, linewidth=1.8, solid_capstyle="butt")
    face = colour if value.is_clear else "white"
    axes.plot(
        100 * value.mean, place, "o", color=colour, markerfacecolor=face, markersize=5, zorder=3
    )


def _style(axes: Axes, title: str) -> None:
    axes.axvline(0, color="#1c2733", linewidth=0.8, zorder=0)
    axes.grid(axis="x", color="#e2e6ea", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=9, top=True, labeltop=True, length=3)
