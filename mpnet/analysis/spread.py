"""What LRA and PPBI protect: how freely the weights of each layer move, after every task."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from mpnet.analysis._base import Finding, Row, Summary, Watch, analysis, table, unwatched
from mpnet.analysis._figure import sequence, sheet
from mpnet.analysis._runs import TrainedRun, about
from mpnet.errors import ConfigError
from mpnet.methods import Protection
from mpnet.selectivity import FREE, HELD, QUANTILES, percent
from mpnet.selectivity import Summary as Freedom

_BETWEEN = "#e4e4e4"
_TRUNK = "trunk"


class _Spread(NamedTuple):
    """The freedom of one layer after one task."""

    task: int
    layer: str
    freedom: Freedom


@analysis("spread", several=False)
def spread(runs: Sequence[TrainedRun], watch: Watch = unwatched) -> Finding:
    """What is protected: how freely each layer's weights move after each task (LRA, PPBI)."""
    (run,) = runs
    held = _protections(run)
    if not held:
        raise ConfigError(
            f"{run.folder}: spread: alpha or tau must have been kept after a task, but nothing "
            f"was by method '{run.name}'; give a run of lra or ppbi made by `python -m mpnet`."
        )
    spreads = [one for t, state in held.items() for one in _of_task(run, t, state)]
    last = held[max(held)]
    title = f"{run.title}: how freely weights move after each task; {_meaning(last)}"
    figure, (freedom, shares, selectivity) = sheet(f"{title}\n{about(runs)}", columns=3)
    _draw_freedom(freedom, spreads)
    _draw_shares(shares, spreads)
    _draw_selectivity(selectivity, spreads)
    figure.legend(*freedom.get_legend_handles_labels(), fontsize=7.5, loc="outside right center")
    return Finding("spread", figure, _rows(spreads, last), _summary(run, spreads))


def _protections(run: TrainedRun) -> dict[int, Protection]:
    """What held each parameter, by task."""
    held = run.method.protection()
    kept = {t: state["values"] for t, state in enumerate(run.kept) if state is not None}
    return {} if held is None else {t: held._replace(values=v) for t, v in kept.items()}


def _meaning(held: Protection) -> str:
    share = f"{held.name} / {held.name}_max"
    value = share if held.holds == "lowest" else f"1 - {share}"
    return f"freedom = {value}, {held.name}_max = {held.limit:g}"


def _of_task(run: TrainedRun, t: int, held: Protection) -> list[_Spread]:
    """The freedom of every layer, and of the whole trunk where there are several."""
    found = held.selectivity(run.network)
    parts = [_Spread(t, layer, one) for layer, one in found.layers.items()]
    return parts if len(parts) == 1 else [*parts, _Spread(t, _TRUNK, found.trunk)]


def _places(spreads: Sequence[_Spread]) -> list[tuple[_Spread, float, object]]:
    """Each spread, its place on an axis of layers, tasks side by side, and its task's colour."""
    layers = list(dict.fromkeys(s.layer for s in spreads))
    tasks = list(dict.fromkeys(s.task for s in spreads))
    shades, step = sequence(len(tasks)), 0.8 / len(tasks)
    return [
        (s, layers.index(s.layer) - 0.4 + step * (i + 0.5), shades[i])
        for s in spreads
        for i in [tasks.index(s.task)]
    ]


def _draw_freedom(axes: Axes, spreads: Sequence[_Spread]) -> None:
    for one, x, shade in _places(spreads):
        low, lower, middle, upper, high = one.freedom.quantiles
        axes.plot([x, x], [low, high], color=shade, linewidth=1)
        axes.plot([x, x], [lower, upper], color=shade, linewidth=4, solid_capstyle="butt")
        label = f"after task {one.task + 1}" if one.layer == spreads[0].layer else None
        axes.plot(x, middle, "o", color=shade, markeredgecolor="black", markersize=4, label=label)
    axes.set(ylabel="freedom (0 held, 1 free)", ylim=(-0.03, 1.03))
    axes.set_title("median, middle half and middle 90 % of the weights", fontsize=9)
    _name_layers(axes, spreads)


def _draw_shares(axes: Axes, spreads: Sequence[_Spread]) -> None:
    """Draw the held from below in the task's colour, the free from above, the rest in grey."""
    width = 0.8 / len({s.task for s in spreads})
    look: dict[str, Any] = {"width": 0.9 * width, "linewidth": 0.5}
    for one, x, shade in _places(spreads):
        held, free = 100 * one.freedom.held, 100 * one.freedom.free
        axes.bar(x, held, color=shade, **look)
        axes.bar(x, 100 - held - free, bottom=held, color=_BETWEEN, **look)
        axes.bar(x, free, bottom=100 - free, color="white", edgecolor=shade, hatch="////", **look)
    kinds = [
        Patch(facecolor="white", edgecolor="#555555", hatch="////", label=f"free: > {FREE:g}"),
        Patch(facecolor=_BETWEEN, label="between"),
        Patch(facecolor="#555555", label=f"held: < {HELD:g}"),
    ]
    axes.legend(
        handles=kinds, fontsize=7.5, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.1)
    )
    axes.set(ylabel="weights (%)", ylim=(0, 100))
    axes.set_title("held and free", fontsize=9)
    _name_layers(axes, spreads)


def _draw_selectivity(axes: Axes, spreads: Sequence[_Spread]) -> None:
    width = 0.8 / len({s.task for s in spreads})
    for one, x, shade in _places(spreads):
        axes.bar(x, one.freedom.selectivity, 0.9 * width, color=shade)
    axes.set(ylabel="Gini coefficient of the freedom", ylim=(0, 1))
    axes.set_title("selectivity: 0 where all weights are alike", fontsize=9)
    _name_layers(axes, spreads)


def _name_layers(axes: Axes, spreads: Sequence[_Spread]) -> None:
    layers = list(dict.fromkeys(s.layer for s in spreads))
    axes.set_xticks(range(len(layers)), layers)
    axes.grid(visible=False, axis="x")


def _rows(spreads: Sequence[_Spread], held: Protection) -> list[Row]:
    return [
        {
            "quantity": held.name,
            "limit": f"{held.limit:g}",
            "after_task": one.task + 1,
            "layer": one.layer,
            "parameters": one.freedom.parameters,
            **{name: f"{value:.6f}" for name, value in one.freedom.metrics().items()},
        }
        for one in spreads
    ]


def _summary(run: TrainedRun, spreads: Sequence[_Spread]) -> Summary:
    quantiles = [percent(q) for q in QUANTILES[::2]]
    columns = ["after", "layer", "parameters", f"freedom {quantiles[0]}", *quantiles[1:]]
    rows = []
    for one in spreads:
        found = one.freedom
        size, middle = f"{found.parameters:,}", [f"{value:.3f}" for value in found.quantiles[::2]]
        numbers = [f"{found.held:.1%}", f"{found.free:.1%}", f"{found.selectivity:.3f}"]
        rows.append([f"task {one.task + 1}", one.layer, size, *middle, *numbers])
    title = f"{run.title}, what is protected: {about([run])}"
    return table(title, [*columns, "held", "free", "selectivity"], rows)
