"""Pictures of the search: what it found, how it went, which parameters mattered."""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sweeper.config.space import Domain
from sweeper.report import coordinates, parameters
from sweeper.report.figure import BLUE, GREEN, GREY, ORANGE, PINK, SKY, Figure, div, dot
from sweeper.report.table1.paper import cells_of
from sweeper.results.facts import Facts
from sweeper.results.records import TrialRecord
from sweeper.results.texts import in_points, short_names, short_value

_ABOUT_TRADE_OFF = (
    "Each point is a finished trial on validation data; up is more accurate, right forgets less. "
    "No trial beats one on the Pareto front in both. Diamonds: test means with their deviations; "
    "cross: the paper's cell. Click a name in the legend to hide it."
)
MOST_DRAWN = 500  # trials, in a figure
_COLUMNS = 3  # of slices


def trade_off(facts: Facts) -> Figure:
    """All trials between the two metrics, with test results and the paper."""
    name, title = "trade-off", "ACC against BWT"
    if len(facts.ranked) < 2:
        return Figure(name, title, "Left out: it takes at least two finished trials.")
    chart = go.Figure()
    front = sorted(facts.front, key=lambda trial: trial.metrics["bwt"])
    shown = thinned(facts.ranked)
    chart.add_trace(_dots(facts, shown, "trial", mode="markers", marker=dot(GREY, 7)))
    line = {"color": ORANGE, "width": 1.5, "shape": "vh"}
    chart.add_trace(
        _dots(facts, front, "Pareto front", mode="lines+markers", line=line, marker=dot(ORANGE, 9))
    )
    star = dot(BLUE, 16, "star")
    chart.add_trace(_dots(facts, facts.ranked[:1], "best", mode="markers", marker=star))
    for trace in [*_tested(facts), *_printed(facts)]:
        chart.add_trace(trace)
    chart.update_layout(xaxis_title="BWT (%)", yaxis_title="ACC (%)")
    return Figure(name, title, _ABOUT_TRADE_OFF + _part(facts), div(chart, name, 460))


def _dots(facts: Facts, trials: Sequence[TrialRecord], name: str, **look: Any) -> go.Scatter:
    return go.Scatter(
        x=[100 * trial.metrics["bwt"] for trial in trials],
        y=[100 * trial.metrics["acc"] for trial in trials],
        text=[_described(facts, trial) for trial in trials],
        hovertemplate="%{text}<extra></extra>",
        name=name,
        **look,
    )


def _described(facts: Facts, trial: TrialRecord) -> str:
    names = short_names(facts.sweep.space)
    values = [f"{names.get(p, p)}: {short_value(value)}" for p, value in trial.values.items()]
    acc, bwt = in_points(trial.metrics["acc"]), in_points(trial.metrics["bwt"], is_signed=True)
    return "<br>".join([f"trial {trial.number}: ACC {acc}, BWT {bwt}", *values])


def _tested(facts: Facts) -> list[go.Scatter]:
    if not facts.tests:
        return []
    deviations = {
        axis: [100 * (getattr(rerun, metric).deviation or 0) for rerun in facts.tests]
        for axis, metric in (("x", "bwt"), ("y", "acc"))
    }
    bars = {
        f"error_{axis}": {"array": array, "thickness": 1} for axis, array in deviations.items()
    }
    return [
        go.Scatter(
            x=[100 * rerun.bwt.mean for rerun in facts.tests],
            y=[100 * rerun.acc.mean for rerun in facts.tests],
            text=[f"trial {rerun.configuration}, test" for rerun in facts.tests],
            mode="markers",
            name="test, mean over seeds",
            marker=dot(GREEN, 11, "diamond"),
            **bars,
        )
    ]


def _printed(facts: Facts) -> list[go.Scatter]:
    cells = [cell for cell in cells_of(facts.best) if not cell.is_slip]
    return [
        go.Scatter(
            x=[100 * cell.bwt],
            y=[100 * cell.acc],
            mode="markers",
            name=f"paper, {cell.row}",
            marker={"color": PINK, "size": 11, "symbol": "x"},
        )
        for cell in cells
    ]


def history(facts: Facts, metric: str) -> Figure:
    """A metric in the order of the trials."""
    name, title = f"history-{metric}", f"Optimisation history: {metric.upper()}"
    if len(facts.ranked) < 2:
        return Figure(name, title, "Left out: it takes at least two finished trials.")
    caption = (
        "Points: finished trials in the order of the ledger; line: the best so far. A line that "
        "has been flat for long says that more trials of this kind would hardly help."
    )
    drawn = _history(facts, metric)
    x, y = [trial.number for trial in drawn], [100 * trial.metrics[metric] for trial in drawn]
    line = {"color": ORANGE, "width": 2, "shape": "hv"}
    chart = go.Figure(
        [
            go.Scatter(x=x, y=y, mode="markers", name="trial", marker=dot(SKY, 7)),
            go.Scatter(
                x=x, y=list(accumulate(y, max)), mode="lines", name="best so far", line=line
            ),
        ]
    )
    label = f"validation {parameters.LABELS[metric]}"
    chart.update_layout(xaxis_title="trial", yaxis_title=label)
    return Figure(name, title, caption + _part(facts), div(chart, name, 380))


def slices(facts: Facts, metric: str) -> Figure:
    """A metric against each parameter by itself."""
    name, title = f"slices-{metric}", f"{metric.upper()} against each parameter"
    missing = _too_little(facts, fewest=2, n_parameters=1)
    if missing:
        return Figure(name, title, f"Left out: {missing}")
    caption = (
        "Points: finished trials that have the parameter; star: the best. A cloud that rises to "
        "one side says to search beyond that end; a flat one that the parameter hardly matters."
    )
    paths = parameters.varied(facts.sweep.space, facts.ranked)
    names, n_rows = short_names(facts.sweep.space), -(-len(paths) // _COLUMNS)
    gap = 0.35 / n_rows
    chart = make_subplots(rows=n_rows, cols=_COLUMNS, shared_yaxes=True, vertical_spacing=gap)
    plain = {"color": SKY, "size": 6, "opacity": 0.55}  # where many lie on each other, darker
    best, *others = thinned(facts.ranked)
    groups = (others, plain), ([best], dot(ORANGE, 14, "star"))
    for place, path in enumerate(paths):
        at = {"row": place // _COLUMNS + 1, "col": place % _COLUMNS + 1}
        for trials, look in groups:
            chart.add_trace(_slice(facts, trials, path, metric, look), **at)
        scale = _scale_of(facts.sweep.space[path])
        chart.update_xaxes(title_text=names[path], **scale, **at)
    chart.update_yaxes(title_text=parameters.LABELS[metric], col=1)
    chart.update_layout(showlegend=False)
    return Figure(name, title, caption + _part(facts), div(chart, name, 90 + 230 * n_rows))


def _scale_of(domain: Domain) -> dict[str, Any]:
    """An axis from end to end of what was searched, with some numbers at it."""
    if not domain.is_ordered:
        return {}
    is_log = parameters.is_logarithmic(domain)
    low, high = parameters.ends(domain)
    start, stop = (math.log10(low), math.log10(high)) if is_log else (low, high)
    margin = 0.05 * (stop - start) or 0.5
    scale: dict[str, Any] = {"range": [start - margin, stop + margin]}
    if is_log and stop - start < 2:  # hardly a power of ten in it
        ticks = [low, math.sqrt(low * high), high]
        scale |= {"tickvals": ticks, "ticktext": [f"{tick:.2g}" for tick in ticks]}
    elif is_log:
        scale |= {"dtick": math.ceil((stop - start) / 4), "exponentformat": "power"}
    return scale | ({"type": "log"} if is_log else {})


def _slice(
    facts: Facts, trials: Sequence[TrialRecord], path: str, metric: str, look: dict[str, Any]
) -> go.Scatter:
    having = [trial for trial in trials if path in trial.values]
    return go.Scatter(
        x=[_on_axis(trial.values[path]) for trial in having],
        y=[100 * trial.metrics[metric] for trial in having],
        text=[_described(facts, trial) for trial in having],
        hovertemplate="%{text}<extra></extra>",
        mode="markers",
        marker=look,
    )


def _on_axis(value: object) -> object:
    """Numbers as they are; all else by name, true and none too."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else short_value(value)


def parallel(facts: Facts) -> Figure:
    """Parallel coordinates: all parameters of all trials at once."""
    name, title = "parallel", "Parallel coordinates"
    missing = _too_little(facts, fewest=2, n_parameters=1)
    if missing:
        return Figure(name, title, f"Left out: {missing}")
    caption = (
        "One line per finished trial, the better on top of the others. "
        f"{facts.sweep.objective[0].upper()} depends most on the parameters on the left. Where "
        "blue lines bundle on an axis, that value matters; where they spread, it does not. Click "
        "a name in the legend to hide its lines."
    )
    space, metrics = facts.sweep.space, facts.sweep.objective
    names, shown = short_names(space), thinned(facts.ranked)
    labels = parameters.LABELS
    axes = [coordinates.metric_axis(labels[metric], metric, shown) for metric in metrics]
    for path in parameters.by_sensitivity(space, facts.ranked, metrics[0]):
        axes.append(coordinates.parameter_axis(names[path], path, space[path]))
    return Figure(
        name, title, caption + _part(facts), div(coordinates.chart(axes, shown), name, 520)
    )


def sensitivity(facts: Facts, metric: str) -> Figure:
    """Which parameters a metric depends on."""
    name, title = f"sensitivity-{metric}", f"Sensitivity of {metric.upper()} to each parameter"
    missing = _too_little(facts, fewest=parameters.FEWEST, n_parameters=2)
    if not missing and not parameters.has_top(facts.ranked, metric):
        missing = "so many trials tie that none can be called the best."
    if missing:
        return Figure(name, title, f"Left out: {missing}")
    caption = (
        "Share of each parameter in what tells the best trials from all others (PED-ANOVA, on "
        "counts in bins). Long bars are worth a finer search; short ones can be fixed."
    )
    if len(facts.ranked) < 50:
        caption += f" From {len(facts.ranked)} trials only: a hint, not a measurement."
    found = parameters.sensitivity(facts.sweep.space, facts.ranked, metric)
    bars = sorted(found, key=found.__getitem__)
    shares = [found[bar] for bar in bars]
    text = [f"{share:.2f}" for share in shares]
    look = {"orientation": "h", "text": text, "textposition": "outside", "cliponaxis": False}
    chart = go.Figure(go.Bar(x=shares, y=bars, marker_color=BLUE, **look))
    chart.update_layout(xaxis_title="share of the sensitivity")
    return Figure(name, title, caption, div(chart, name, 120 + 34 * len(bars)))


def _too_little(facts: Facts, fewest: int, n_parameters: int) -> str:
    """Why a plot of parameters makes no sense, if it does not."""
    n_varied = len(parameters.varied(facts.sweep.space, facts.ranked))
    if len(facts.ranked) < fewest:
        return f"it takes at least {fewest} finished trials, and there are {len(facts.ranked)}."
    if n_varied < n_parameters:
        needed = "a parameter" if n_parameters == 1 else f"{n_parameters} parameters"
        return f"it takes {needed} with more than one value, and there are {n_varied}."
    return ""


def thinned(trials: Sequence[TrialRecord]) -> Sequence[TrialRecord]:
    """As many as a page can hold, evenly from the first to the last of them."""
    return trials[:: max(1, math.ceil(len(trials) / MOST_DRAWN))]


def _part(facts: Facts) -> str:
    """A sentence where not all trials are drawn."""
    n_drawn, n_all = len(thinned(facts.ranked)), len(facts.ranked)
    return f" Evenly thinned: {n_drawn} of {n_all} trials." if n_drawn < n_all else ""


def _history(facts: Facts, metric: str) -> list[TrialRecord]:
    """The trials to be drawn, with all that were better than every one before them."""
    trials, best = _by_number(facts.ranked), -math.inf
    drawn = {trial.number for trial in thinned(trials)}
    for trial in trials:
        if trial.metrics[metric] > best:
            best = trial.metrics[metric]
            drawn.add(trial.number)
    return [trial for trial in trials if trial.number in drawn]


def _by_number(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    return sorted(trials, key=lambda trial: trial.number)
