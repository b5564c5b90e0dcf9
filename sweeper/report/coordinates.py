"""Parallel coordinates: all parameters of all trials at once, what matters most on the left."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from sweeper.config.space import Domain
from sweeper.report.figure import ORANGE
from sweeper.results.records import TrialRecord
from sweeper.results.texts import short_value

_ABSENT = -0.1  # below an axis: the trial does not have this parameter
_BAND = 0.1  # at most: lines with the same value lie side by side in it
_MOST_TICKS = 8
_ALTERNATE = 8  # axes, from which names stand in two rows
_LABEL = {"showarrow": False, "bgcolor": "rgba(255, 255, 255, 0.8)", "font": {"size": 10}}


@dataclass(frozen=True)
class Axis:
    """A vertical line that every trial crosses.

    Args:
        name: at its head.
        value: of a trial; None if it has none.
        place: of a value, from 0 at the bottom to 1 at the top.
        ticks: the values with a label.
        band: around a place, for the lines of all trials that have its value.
    """

    name: str
    value: Callable[[TrialRecord], Any]
    place: Callable[[Any], float]
    ticks: Sequence[object]
    band: float = 0.0

    def height(self, trial: TrialRecord, is_exact: bool) -> float:
        """Where the line of a trial crosses it."""
        value = self.value(trial)
        at, band = (_ABSENT, _BAND / 2) if value is _NONE else (self.place(value), self.band)
        return at if is_exact else at + band * (trial.number * 0.618 % 1 - 0.5)


_NONE = object()


def metric_axis(name: str, metric: str, trials: Sequence[TrialRecord]) -> Axis:
    """A metric in percent, from the worst of the trials to the best."""
    values = [100 * trial.metrics[metric] for trial in trials]
    low, high = min(values), max(values)
    ticks = [round(low + (high - low) * n / 4, 1) for n in range(5)]
    span = (high - low) or 1.0
    return Axis(name, lambda t: 100 * t.metrics[metric], lambda v: (v - low) / span, ticks)


def parameter_axis(name: str, path: str, domain: Domain) -> Axis:
    """A parameter: the points of a grid are equally far from one to the next."""

    values: list[Any] = [*domain.values]
    places = {repr(value): n / max(1, len(values) - 1) for n, value in enumerate(values)}

    def place(value: Any) -> float:
        return domain.distance(min(values), value) if domain.is_ordered else places[repr(value)]

    is_discrete = domain.kind in ("grid", "choice")
    band = min(_BAND, 0.3 / len(domain.values)) if is_discrete else 0.0
    return Axis(name, lambda t: t.values.get(path, _NONE), place, _ticks(domain), band)


def _ticks(domain: Domain) -> list[object]:
    if domain.kind in ("grid", "choice"):
        every = sorted(domain.values) if domain.is_ordered else [*domain.values]  # type: ignore[type-var]
        return [*every[:: math.ceil(len(every) / _MOST_TICKS)]]
    low, high = float(domain.values[0]), float(domain.values[1])  # type: ignore[arg-type]
    if domain.kind == "log_uniform":
        powers = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
        tens = [10.0**n for n in powers if 1.5 * low < 10.0**n < high / 1.5]
        return [low, *tens[:: math.ceil(len(tens) / _MOST_TICKS) or 1], high]
    parts = [low + (high - low) * n / 4 for n in range(5)]
    return [*dict.fromkeys(map(round, parts))] if domain.kind == "int" else [*parts]


def chart(axes: Sequence[Axis], ranked: Sequence[TrialRecord]) -> go.Figure:
    """A line for each trial; the better ones lie on top of the others, the best on all.

    Args:
        axes: from left to right.
        ranked: finished trials, the best first.
    """
    figure = go.Figure()
    for name, trials, look in reversed([*_groups(ranked)]):
        figure.add_trace(_lines(axes, name, trials, look))
    for at, axis in enumerate(axes):
        has_gaps = any(axis.value(trial) is _NONE for trial in ranked)
        _draw(figure, at, axis, has_gaps)
    names = [axis.name for axis in axes]
    if len(names) > _ALTERNATE:
        names = [f" <br>{name}" if at % 2 else f"{name}<br> " for at, name in enumerate(names)]
    heads = {"tickvals": [*range(len(axes))], "ticktext": names, "tickangle": 0, "side": "top"}
    figure.update_xaxes(showgrid=False, zeroline=False, range=[-0.6, len(axes) - 0.6], **heads)
    figure.update_yaxes(visible=False, range=[_ABSENT - 0.06, 1.06])
    legend = {"orientation": "h", "y": -0.02, "traceorder": "reversed"}
    figure.update_layout(legend=legend, margin={"l": 20, "r": 20, "t": 60, "b": 30})
    return figure


def _draw(figure: go.Figure, at: int, axis: Axis, has_gaps: bool) -> None:
    """An axis with labels at its left."""
    line = {"color": "#55606b", "width": 1}
    figure.add_shape(type="line", x0=at, x1=at, y0=0, y1=1, line=line, layer="above")
    for tick in axis.ticks:
        where = {"x": at, "y": axis.place(tick), "xanchor": "right"}
        figure.add_annotation(text=short_value(tick), **where, **_LABEL)
    if has_gaps:
        figure.add_annotation(text="not there", x=at, y=_ABSENT, **_LABEL)


def _groups(
    ranked: Sequence[TrialRecord],
) -> Iterator[tuple[str, Sequence[TrialRecord], Mapping[str, object]]]:
    """The best, the best tenth, the halves; as faint as they are many."""
    tenth, half = math.ceil(len(ranked) / 10), math.ceil(len(ranked) / 2)
    yield "best", ranked[:1], {"color": ORANGE, "width": 3}
    parts = {
        "best tenth": (ranked[1:tenth], "0, 114, 178", 40, 0.35),
        "better half": (ranked[max(1, tenth) : half], "86, 180, 233", 50, 0.18),
        "other half": (ranked[max(1, half) :], "120, 128, 138", 30, 0.1),
    }
    for name, (trials, colour, n_clear, faintest) in parts.items():
        if trials:
            strength = max(faintest, min(0.8, n_clear / len(trials)))
            yield name, trials, {"color": f"rgba({colour}, {strength:.2f})", "width": 1.2}


def _lines(
    axes: Sequence[Axis], name: str, trials: Sequence[TrialRecord], look: Mapping[str, object]
) -> go.Scatter:
    """Lines in one trace, with gaps between them: a trace each would make a page slow."""
    is_best = name == "best"
    heights = [
        [*(round(axis.height(trial, is_best), 4) for axis in axes), None] for trial in trials
    ]
    texts = [[*(_crossing(axis, trial) for axis in axes), ""] for trial in trials]
    is_told = name.startswith("best")
    return go.Scatter(
        x=[*range(len(axes)), None] * len(trials),
        y=sum(heights, []),
        text=sum(texts, []) if is_told else None,
        hovertemplate="%{text}<extra></extra>" if is_told else None,
        hoverinfo=None if is_told else "skip",
        mode="lines",
        line=look,
        name=name,
    )


def _crossing(axis: Axis, trial: TrialRecord) -> str:
    value = axis.value(trial)
    return f"trial {trial.number}<br>{axis.name}: {'–' if value is _NONE else short_value(value)}"
