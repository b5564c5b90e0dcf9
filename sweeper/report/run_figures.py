"""Pictures of single runs: their accuracy matrices and learning curves."""

from collections.abc import Sequence
from itertools import islice
from statistics import fmean

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from sweeper.report.figure import BLUE, GREEN, GREY, ORANGE, PINK, SKY, Figure, div
from sweeper.results.facts import Facts
from sweeper.results.records import Matrix, TrialRecord
from sweeper.results.tested import mean_matrix

_CURVES = (BLUE, ORANGE, GREEN, PINK, SKY)
_N_MATRICES = 3
_ABOUT_MATRICES = (
    "Row t: accuracy (%) on each task seen so far after training task t. A column that darkens "
    "downwards is a task being forgotten; a dark diagonal is a task that was never learnt well. "
    "One colour scale for all panels; means over seeds."
)
_ABOUT_CURVES = (
    "Validation accuracy of the task in training, epoch by epoch (mean over seeds); dotted lines: "
    "a new task begins (as in the best trial). A curve still rising at a dotted line asks for "
    "more epochs; one that starts low on every task relearns instead of reusing."
)


def matrices(facts: Facts) -> Figure:
    """Panels of R on one colour scale."""
    name, title = "matrices", "Accuracy matrices R of the best"
    panels = _panels(facts)
    tasks = max((trial.task_names for trial in facts.ranked), key=len, default=[])
    if not panels:
        return Figure(name, title, "Left out: no finished trial has an accuracy matrix.")
    n_rows = -(-len(panels) // 2)
    sheet = make_subplots(
        n_rows, 2, subplot_titles=[label for label, _ in panels], vertical_spacing=0.28 / n_rows
    )
    for place, (_, R) in enumerate(panels):
        sheet.add_trace(_heat(R, tasks[: len(R)]), row=place // 2 + 1, col=place % 2 + 1)
    _style(sheet, [R for _, R in panels], tasks)
    if len(panels) % 2:  # the last place is empty
        sheet.update_xaxes(visible=False, row=n_rows, col=2)
        sheet.update_yaxes(visible=False, row=n_rows, col=2)
    return Figure(name, title, _ABOUT_MATRICES, div(sheet, name, 60 + 360 * n_rows))


def _style(sheet: go.Figure, shown: Sequence[Matrix], tasks: Sequence[str]) -> None:
    places = [*range(1, len(tasks) + 1)]
    plain = {"tickvals": places, "ticktext": tasks, "showgrid": False, "zeroline": False}
    sheet.update_xaxes(title_text="task", **plain)
    sheet.update_yaxes(title_text="after task", autorange="reversed", **plain)
    low, high = _colour_limits(shown)
    sheet.update_layout(coloraxis={"colorscale": "Cividis", "cmin": low, "cmax": high})
    sheet.update_coloraxes(colorbar={"title": "%", "thickness": 12})


def _panels(facts: Facts) -> list[tuple[str, Matrix]]:
    """The best on validation, its test reruns, and those behind it."""
    rerun = facts.best_test
    panels = [
        (f"Trial {trial.number}, validation", mean_matrix(trial.R))
        for trial in facts.ranked[:_N_MATRICES]
        if trial.R
    ]
    if rerun and rerun.R:
        panels.insert(1, (f"Trial {rerun.configuration}, test", rerun.R))
    return panels


def _heat(R: Matrix, names: Sequence[str]) -> go.Heatmap:
    tasks = list(range(1, len(R) + 1))
    percent = [[None if value is None else 100 * value for value in row] for row in R]
    digits = ".1f" if len(R) > 5 else ".2f"
    return go.Heatmap(
        z=percent,
        x=tasks,
        y=tasks,
        coloraxis="coloraxis",
        texttemplate=f"%{{z:{digits}}}",
        textfont={"size": 11 if len(R) > 5 else 13},
        customdata=[[(row, column) for column in names] for row in names],
        hovertemplate="task %{customdata[1]} after task %{customdata[0]}: %{z:.2f} %"
        "<extra></extra>",
        hoverongaps=False,
        xgap=1,
        ygap=1,
    )


def _colour_limits(matrices: Sequence[Matrix]) -> tuple[float, float]:
    """The ends of the colours, at least a percent apart: noise should not look like forgetting."""
    values = [100 * value for R in matrices for row in R for value in row if value is not None]
    return min(*values, max(values) - 1), max(values)


def curves(facts: Facts) -> Figure:
    """Accuracy by epoch over all tasks, one line per trial."""
    name, title = "curves", "Learning curves of the best"
    having = (trial for trial in facts.ranked if trial.R and any(trial.curves))
    trials = list(islice(having, len(_CURVES)))
    if not trials:
        return Figure(name, title, "Left out: no finished trial has a learning curve.")
    chart = go.Figure()
    for trial, colour in zip(trials, _CURVES, strict=False):
        chart.add_trace(_curve(trial, _epochs(trial), colour))
    _mark_tasks(chart, trials[0], _epochs(trials[0]))
    chart.update_layout(xaxis_title="epoch, over all tasks", yaxis_title="accuracy (%)")
    return Figure(name, title, _ABOUT_CURVES, div(chart, name, 420))


def _mark_tasks(chart: go.Figure, trial: TrialRecord, epochs: int) -> None:
    """A line where a task begins, half a step before its first epoch, and a name above it."""
    above = {"y": 1.0, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    dotted = {"dash": "dot", "color": GREY, "width": 1}
    for t, name in enumerate(trial.task_names):
        begin = _first_step(trial) + t * epochs - 0.5
        number, _, data_set = name.partition(" ")
        text = "<br>".join(filter(None, [f"task {number}", data_set]))
        chart.add_annotation(x=begin + epochs / 2, text=text, **above)
        if t:
            chart.add_vline(begin, line=dotted)


def _curve(trial: TrialRecord, epochs: int, colour: str) -> go.Scatter:
    """The mean over seeds, broken between tasks."""
    first, task = _first_step(trial), 0
    xs: list[float | None] = []
    ys: list[float | None] = []
    for step, accuracy in _mean_curve(trial).items():
        if (step - first) // epochs != task:
            task = int((step - first) // epochs)
            xs.append(None)
            ys.append(None)
        xs.append(step)
        ys.append(accuracy)
    line = {"color": colour, "width": 2}
    return go.Scatter(x=xs, y=ys, mode="lines", name=f"trial {trial.number}", line=line)


def _mean_curve(trial: TrialRecord) -> dict[float, float]:
    """Step -> accuracy in percent; seeds that stopped early leave the rest to the others."""
    by_step: dict[float, list[float]] = {}
    for curve in trial.curves:
        for step, _, accuracy in curve:
            by_step.setdefault(step, []).append(100 * accuracy)
    return {step: fmean(by_step[step]) for step in sorted(by_step)}


def _first_step(trial: TrialRecord) -> float:
    return min(row[0] for curve in trial.curves for row in curve)


def _epochs(trial: TrialRecord) -> int:
    """The number of epochs of a task."""
    return int(trial.run["training"]["epochs"])
