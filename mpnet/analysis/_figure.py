"""How all figures look: on paper, on a screen, and to colour-blind eyes.

A colour says what kind of network it is, as in the paper: warm for moment propagation, cool for
drawn weights, grey for deterministic ones. Within a kind shades grow lighter, and every curve has
a line style and a marker of its own, so that a figure can be read without colour too.
"""

from pathlib import Path
from typing import Any, Literal

import matplotlib
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

_WARM = ("#8c1c13", "#d1495b", "#ed8b2d", "#e0b040")
_COOL = ("#0b3c6f", "#2374ab", "#2a9d8f", "#86b6d9")
_GREY = ("#000000", "#4d4d4d", "#808080", "#b3b3b3")
_SHADES = {
    "moment": _WARM,
    "sampled": _COOL,
    "sampled_units": _COOL,
    "plain": _GREY,
    "gated": _GREY,
}
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "x")
_DOTS_PER_INCH = 200


def sheet(title: str, rows: int = 1, columns: int = 1, **ratios: Any) -> tuple[Figure, list[Axes]]:
    """A figure with axes in reading order; `ratios` as gridspec takes them."""
    figure = Figure(figsize=(4.6 * columns, 3.6 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, gridspec_kw=ratios)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    axes = list(np.ravel(grid))
    for panel in axes:
        panel.grid(color="#e2e2e2", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes


def colour(family: str, shade: int = 0) -> str:
    """The colour of a network of these layers."""
    return _SHADES[family][shade % len(_WARM)]


def curve(family: str, shade: int = 0, place: int = 0) -> dict[str, Any]:
    """How a curve is drawn; of two groups of one family the second is thin, with open markers."""
    return {
        "color": colour(family, shade),
        "linestyle": _LINES[shade % len(_LINES)],
        "marker": _MARKERS[shade % len(_MARKERS)],
        "markersize": 3.5,
        "markerfacecolor": "white" if place else colour(family, shade),
        "linewidth": 0.9 if place else 1.6,
    }


def sequence(n: int) -> list[Any]:
    """Colours in an order, such as that of tasks: dark to light, evenly."""
    return [colormaps["viridis"](0.9 * i / max(1, n - 1)) for i in range(n)]


def log_axis(axes: Axes, which: Literal["x", "y"], values: Any) -> None:
    """Make an axis logarithmic if the values span a decade, with numbers at whole decades only."""
    if np.max(values) > 10 * np.min(values):
        axes.set(**{f"{which}scale": "log"})
        (axes.xaxis if which == "x" else axes.yaxis).set_minor_formatter(NullFormatter())
    else:
        axes.ticklabel_format(axis=which, style="sci", scilimits=(0, 0))


def save(figure: Figure, path: Path) -> None:
    """Save by the suffix; without a date, so that the same data give the same file."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    with matplotlib.rc_context({"svg.hashsalt": "mpnet"}):
        figure.savefig(path, dpi=_DOTS_PER_INCH, metadata=metadata)
