"""What LRA and PPBI protect: how alpha or tau is spread over layers, after every task."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from mpnet.analysis._base import Finding, Row, Summary, Watch, analysis, table, unwatched
from mpnet.analysis._figure import sequence, sheet
from mpnet.analysis._runs import TrainedRun, about
from mpnet.checkpoint import State
from mpnet.errors import ConfigError
from mpnet.metrics import Vector

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_HELD = 0.1  # of the highest value: where a parameter begins to count as held, or as free
_MEANING = {
    "lowest": "at most a tenth of the highest",
    "highest": "at least a tenth of the highest",
}


class _Spread(NamedTuple):
    """The values of one layer after one task."""

    task: int
    layer: str
    values: Vector
    held: float

    @property
    def quantiles(self) -> Vector:
        return np.quantile(self.values, _QUANTILES)


@analysis("spread", several=False)
def spread(runs: Sequence[TrainedRun], watch: Watch = unwatched) -> Finding:
    """What is protected: alpha (LRA) or tau (PPBI) in each layer, after each task."""
    (run,) = runs
    states = {t: state for t, state in enumerate(run.kept) if state is not None}
    if not states:
        raise ConfigError(
            f"{run.folder}: spread: alpha or tau must have been kept after a task, but nothing "
            f"was by method '{run.name}'; give a run of lra or ppbi made by `python -m mpnet`."
        )
    name, holds = str(states[max(states)]["name"]), states[max(states)]["holds"]
    spreads = [one for t, state in states.items() for one in _of_task(run, t, state)]
    title = f"{run.title}: {name} after each task; {holds} values hold tightest\n{about(runs)}"
    figure, (values, held) = sheet(title, columns=2)
    _draw_values(values, spreads, name)
    _draw_held(held, spreads, f"held: {name} {_MEANING[holds]}")
    figure.legend(*values.get_legend_handles_labels(), fontsize=7.5, loc="outside right center")
    return Finding("spread", figure, _rows(spreads, name), _summary(run, spreads, name))


def _of_task(run: TrainedRun, t: int, state: State) -> list[_Spread]:
    """Cut the flat vector as the trunk is cut."""
    trunk = [p for p in run.posteriors if p.path.startswith("trunk.")]
    flat = state["values"]
    parts: dict[str, list[Vector]] = {}
    for posterior, part in zip(trunk, flat.split([p.mean.numel() for p in trunk]), strict=True):
        parts.setdefault(run.layer_of(posterior), []).append(part.double().numpy())
    limit = _HELD * float(flat.max())
    found = []
    for layer, vectors in parts.items():
        values = np.concatenate(vectors)
        is_held = values <= limit if state["holds"] == "lowest" else values >= limit
        found.append(_Spread(t, layer, values, float(is_held.mean())))
    return found


def _places(spreads: Sequence[_Spread]) -> list[tuple[_Spread, float, object]]:
    """Each with its place on an axis of layers, tasks side by side, and its task's colour."""
    layers = list(dict.fromkeys(s.layer for s in spreads))
    tasks = list(dict.fromkeys(s.task for s in spreads))
    shades, step = sequence(len(tasks)), 0.8 / len(tasks)
    return [
        (s, layers.index(s.layer) - 0.4 + step * (i + 0.5), shades[i])
        for s in spreads
        for i in [tasks.index(s.task)]
    ]


def _draw_values(axes: Axes, spreads: Sequence[_Spread], name: str) -> None:
    for one, x, shade in _places(spreads):
        low, lower, middle, upper, high = one.quantiles
        axes.plot([x, x], [low, high], color=shade, linewidth=1)
        axes.plot([x, x], [lower, upper], color=shade, linewidth=4, solid_capstyle="butt")
        label = f"after task {one.task + 1}" if one.layer == spreads[0].layer else None
        axes.plot(x, middle, "o", color=shade, markeredgecolor="black", markersize=4, label=label)
    axes.set(yscale="log", ylabel=name)
    axes.set_title("median, middle half and middle 90 % of the parameters", fontsize=9)
    _name_layers(axes, spreads)


def _draw_held(axes: Axes, spreads: Sequence[_Spread], title: str) -> None:
    width = 0.8 / len({s.task for s in spreads})
    for one, x, shade in _places(spreads):
        axes.bar(x, 100 * one.held, width, color=shade, edgecolor="white", linewidth=0.5)
    axes.set(ylabel="parameters held (%)", ylim=(0, 100))
    axes.set_title(title, fontsize=9)
    _name_layers(axes, spreads)


def _name_layers(axes: Axes, spreads: Sequence[_Spread]) -> None:
    layers = list(dict.fromkeys(s.layer for s in spreads))
    axes.set_xticks(range(len(layers)), layers)
    axes.grid(visible=False, axis="x")


def _rows(spreads: Sequence[_Spread], name: str) -> list[Row]:
    return [
        {
            "quantity": name,
            "after_task": one.task + 1,
            "layer": one.layer,
            "parameters": len(one.values),
            "held": f"{one.held:.6f}",
            **{
                f"q{100 * q:g}": f"{v:.6g}" for q, v in zip(_QUANTILES, one.quantiles, strict=True)
            },
        }
        for one in spreads
    ]


def _summary(run: TrainedRun, spreads: Sequence[_Spread], name: str) -> Summary:
    columns = ["after", "layer", "parameters", f"{name} 5 %", "50 %", "95 %", "held"]
    rows = []
    for one in spreads:
        low, _, middle, _, high = (f"{value:.2e}" for value in one.quantiles)
        size, held = f"{len(one.values):,}", f"{one.held:.1%}"
        rows.append([f"task {one.task + 1}", one.layer, size, low, middle, high, held])
    return table(f"{run.title}, what is protected: {about([run])}", columns, rows)
