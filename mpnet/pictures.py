"""Pictures for places that show no interactive page, such as an MLflow artifact."""

import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_COLOURS = "cividis"  # the same to colour-blind eyes; grows evenly in brightness
_INCHES_PER_TASK = 0.62
_INCHES_PER_LETTER = 0.085

Values = npt.NDArray[np.float64]


def heat_map(
    R: Values | Sequence[Sequence[float | None]], title: str, data_sets: Sequence[str] = ()
) -> bytes:
    """An accuracy matrix as a PNG: row t is the state after task t, one percentage per cell."""
    values = np.array(R, dtype=float)  # None becomes NaN, which is drawn blank
    left = 0.7 + _INCHES_PER_LETTER * max(map(len, data_sets), default=0)
    figure, axes = _sheet(max(3.0, _INCHES_PER_TASK * len(values)), left)
    low, high = _limits(values)
    axes.imshow(values, cmap=_COLOURS, vmin=low, vmax=high)
    _write_percentages(axes, values, (low + high) / 2)
    _name_axes(axes, len(values), data_sets)
    axes.set_title(title, fontsize=10, loc="left", parse_math=False)
    buffer = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png", pil_kwargs={"compress_level": 1})
    return buffer.getvalue()


def _sheet(side: float, left: float) -> tuple[Figure, Axes]:
    """Square axes at a fixed place: a layout engine takes longer than all the drawing."""
    width, height = left + side + 0.3, side + 1.0
    figure = Figure(figsize=(width, height), dpi=100)
    box = (left / width, 0.55 / height, side / width, side / height)
    return figure, figure.add_axes(box)


def _limits(values: Values) -> tuple[float, float]:
    """The ends of the colours, at least one percent apart, so that noise stays grey."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    return min(low, high - 0.01), high


def _write_percentages(axes: Axes, values: Values, middle: float) -> None:
    for t, i in np.argwhere(np.isfinite(values)):
        colour = "black" if values[t, i] > middle else "white"
        text = f"{100 * values[t, i]:.1f}"
        axes.text(i, t, text, ha="center", va="center", color=colour, fontsize=9)


def _name_axes(axes: Axes, n_tasks: int, data_sets: Sequence[str]) -> None:
    numbers = [str(i + 1) for i in range(n_tasks)]
    axes.set_xticks(range(n_tasks), numbers)
    names = [f"{i + 1} {name}" for i, name in enumerate(data_sets)]
    axes.set_yticks(range(n_tasks), names or numbers)
    axes.set_xlabel("accuracy on task (%)")
    axes.set_ylabel("after training task")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
