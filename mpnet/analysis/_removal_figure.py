"""How increases of the loss are drawn: parameter by parameter, and as correlations."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mpnet.analysis._figure import colour, log_axis, sequence, sheet
from mpnet.analysis._ranks import Correlation
from mpnet.metrics import Vector

_MARKERS = ("o", "s", "^", "D", "v")


class Drawing(NamedTuple):
    """What is shown of one run.

    Args:
        label: of the run.
        family: of its layers.
        against: what the increases are drawn against.
        points: by layer, what the increases are drawn against and their sizes.
        correlations: by order, then by layer; the first layer stands for all.
        of_points: by layer, the correlations of the order that the points show.
    """

    label: str
    family: str
    against: str
    points: Mapping[str, tuple[Vector, Vector]]
    correlations: Mapping[str, Mapping[str, Correlation]]
    of_points: Mapping[str, Correlation]


def drawn(title: str, drawings: Sequence[Drawing]) -> Figure:
    """A row for every run: points on the left, correlations on the right."""
    figure, axes = sheet(title, rows=len(drawings), columns=2)
    for place, one in enumerate(drawings):
        _draw_points(axes[2 * place], one)
        _draw_bars(axes[2 * place + 1], one)
    return figure


def _draw_points(axes: Axes, one: Drawing) -> None:
    shades = sequence(len(one.points))
    all_, whole = next(iter(one.of_points.items()))
    label = f"{all_}: {whole.value:+.2f}"
    axes.scatter([], [], s=7, color=colour(one.family), linewidth=0, label=label)
    for place, (layer, (x, y)) in enumerate(one.points.items()):
        is_shown = (x > 0) & (y > 0)  # on logarithmic axes
        label = f"{layer}: {one.of_points[layer].value:+.2f}"
        style = {"color": shades[place], "marker": _MARKERS[place % len(_MARKERS)]}
        axes.scatter(x[is_shown], y[is_shown], s=7, alpha=0.6, linewidth=0, label=label, **style)
    sign = "-variance" if one.against == "variance" else one.against
    title = f"{one.label}\nSpearman of {sign} and |increase|: {whole.value:+.2f}"
    axes.set_title(title, fontsize=9)
    axes.set(xlabel=one.against, ylabel="|increase of the loss|")
    for which, column in (("x", 0), ("y", 1)):
        values = np.concatenate([pair[column] for pair in one.points.values()])
        log_axis(axes, which, values[values > 0])  # type: ignore[arg-type]
    axes.legend(fontsize=7.5, markerscale=2)


def _draw_bars(axes: Axes, one: Drawing) -> None:
    orders, parts = list(one.correlations), list(one.of_points)
    shades = [colour(one.family), *sequence(len(parts) - 1)]
    height = 0.8 / len(parts)
    for place, part in enumerate(parts):
        found = np.array([one.correlations[order][part] for order in orders])
        y = np.arange(len(orders)) - 0.4 + height * (place + 0.5)
        value, error = found[:, 0], np.abs(found[:, 1:] - found[:, :1]).T
        thin = {"ecolor": "black", "linewidth": 0.7}
        axes.barh(y, value, height, xerr=error, color=shades[place], error_kw=thin)
    axes.set_yticks(range(len(orders)), orders)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.7)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(min(-0.25, axes.get_xlim()[0]), 1)
    axes.set_xlabel("Spearman with |increase|, 95 % interval")
    axes.set_title("all orders; colours as on the left", fontsize=9)
