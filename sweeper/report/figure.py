"""A figure of the page: how all of them look."""

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

# Okabe and Ito's colours, told apart by colour-blind eyes too.
BLUE, ORANGE, GREEN, PINK, SKY, GREY = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#9aa3ad",
)
# Plotly would show a button that sends the figure's data to its makers' server.
_CONFIG = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d"],
    "responsive": True,
    "showSendToCloud": False,
}
_FONT = {
    "color": "#1c2733",
    "family": "system-ui, -apple-system, 'Segoe UI', sans-serif",
    "size": 13,
}


@dataclass(frozen=True)
class Figure:
    """A figure of the page.

    Args:
        name: its anchor.
        caption: what to look for, or why there is no figure.
        div: HTML that plotly made; empty if the figure is left out.
    """

    name: str
    title: str
    caption: str
    div: str = ""


def dot(colour: str, size: int, symbol: str = "circle") -> dict[str, Any]:
    """A marker with a thin white rim, so that points on top of each other stay apart."""
    line = {"width": 1, "color": "white"}
    return {"color": colour, "size": size, "symbol": symbol, "line": line}


def div(chart: go.Figure, name: str, height: int) -> str:
    """HTML without plotly's script, which the page has once."""
    chart.update_layout(
        title=None, height=height, font=_FONT, template="plotly_white", hoverlabel={"font": _FONT}
    )
    if chart.layout.margin.t is None:
        chart.update_layout(margin={"l": 60, "r": 20, "t": 40, "b": 50})
    html: str = chart.to_html(
        full_html=False, include_plotlyjs=False, config=_CONFIG, div_id=f"plot-{name}"
    )
    return html
