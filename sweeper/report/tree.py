"""Which first task fed which trials: a row for each, its trials in the order of their ACC."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sweeper.results.facts import Facts
from sweeper.results.records import TrialRecord
from sweeper.results.texts import short_names, short_value

_INCHES_PER_ROW, _INCHES_AROUND = 0.24, 1.3
_TRUNK, _INK = "#9aa3ad", "#1c2733"
_MOST_ROWS = 60

Row = tuple[str, list[TrialRecord]]


def rows(facts: Facts) -> list[Row]:
    """A name and the finished trials of each first task that fed any, the best trial first.

    With several seeds, a trial stands with the first task of its first seed.
    """
    members: dict[str, list[TrialRecord]] = {}
    for trial in sorted(facts.ranked, key=_acc, reverse=True):
        if trial.first_tasks:
            members.setdefault(trial.first_tasks[0]["name"], []).append(trial)
    kept = list(members.values())  # the best trial is the first to be met
    return list(zip(_names(kept), kept, strict=True))


def _acc(trial: TrialRecord) -> float:
    return trial.metrics["acc"]


def _names(members: Sequence[Sequence[TrialRecord]]) -> list[str]:
    """What the trials of a first task have in common and others have not."""
    common = [_common([trial.values for trial in found]) for found in members]
    paths = list(dict.fromkeys(path for one in common for path in one))
    telling = [path for path in paths if len({repr(one.get(path)) for one in common}) > 1]
    short = short_names(telling)
    return [
        "  ".join(f"{short[path]}={short_value(one[path])}" for path in telling if path in one)
        or "all trials"
        for one in common
    ]


def _common(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first, *others = values
    return {
        path: value
        for path, value in first.items()
        if all(path in other and other[path] == value for other in others)
    }


def tree(shown: Sequence[Row]) -> Figure:
    """First tasks from top to bottom, the one with the best trial first."""
    shown = shown[:_MOST_ROWS]
    height = _INCHES_AROUND + _INCHES_PER_ROW * len(shown)
    figure = Figure(figsize=(10, height), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    accs = [100 * _acc(trial) for _, found in shown for trial in found]
    scale = Normalize(min(accs), max(accs))
    for place, (_, found) in enumerate(shown):
        axes.plot([0, len(found)], [place, place], color=_TRUNK, linewidth=1.2, zorder=1)
        axes.plot(0, place, "o", color=_INK, markersize=6, zorder=2)
        dots = axes.scatter(
            range(1, len(found) + 1),
            [place] * len(found),
            c=[100 * _acc(trial) for trial in found],
            cmap="cividis",
            norm=scale,
            marker="s",
            s=46,
            zorder=2,
        )
    axes.set_yticks(range(len(shown)), [name for name, _ in shown], fontsize=9, parse_math=False)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_xlabel("trials that started from it, the best first", fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.colorbar(dots, ax=axes, label="ACC (%)", fraction=0.03, pad=0.01)
    return figure
