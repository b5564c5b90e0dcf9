"""The paper's Figure 2: how much of a network can be taken away before it is missed."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from mpnet import metrics
from mpnet.analysis._base import (
    Finding,
    Row,
    Summary,
    Watch,
    analysis,
    several_values,
    table,
    unwatched,
)
from mpnet.analysis._figure import curve, sheet
from mpnet.analysis._orders import WITH_VARIANCE, WITHOUT_VARIANCE
from mpnet.analysis._runs import Group, TrainedRun, about, groups_of
from mpnet.evaluation import evaluate
from mpnet.layers import Posterior

_SHARES = (
    *(0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9),
    *(0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995),
)
_FALL = 0.01  # of accuracy, that the summary looks for
_ZOOM = 0.05

_MEASURES = WITH_VARIANCE | WITHOUT_VARIANCE


class Curve(NamedTuple):
    """Accuracy at every share of `_SHARES`, of one run in one order."""

    group: Group
    run: TrainedRun
    measure: str
    accuracy: metrics.Vector

    @property
    def loss(self) -> metrics.Vector:
        """The loss of accuracy, against the whole network."""
        return self.accuracy[0] - self.accuracy


@analysis("prune", several=True)
def prune(runs: Sequence[TrainedRun], watch: Watch = unwatched) -> Finding:
    """Figure 2: loss of accuracy against the share of parameters that are taken away."""
    groups = groups_of(runs)
    jobs = [(g, run, m) for g in groups for run in g.runs for m in measures_of(run)]
    curves = [Curve(g, run, m, _accuracies(run, m)) for g, run, m in watch(jobs, "pruning")]
    split = runs[0].config.split
    title = f"Parameters taken away, least important first, all layers together\n{about(runs)}"
    figure, (whole, zoom) = sheet(title, columns=2)
    for panel in (whole, zoom):
        _draw(panel, groups, curves, split)
    figure.legend(*whole.get_legend_handles_labels(), fontsize=7.5, loc="outside right center")
    zoom.axhline(100 * _FALL, color="black", linewidth=0.7)
    zoom.set(xlim=(100 * _zoom_start(groups, curves), 100), ylim=(-0.3, 100 * _ZOOM))
    return Finding("prune", figure, _rows(curves), _summary(groups, curves, split))


def measures_of(run: TrainedRun) -> list[str]:
    """The orders in which this network can be pruned."""
    is_certain = all(posterior.var is not None for posterior in run.posteriors)
    return [name for name in _MEASURES if is_certain or name in WITHOUT_VARIANCE]


def _accuracies(run: TrainedRun, measure: str) -> metrics.Vector:
    """Prune further and further, then put everything back."""
    before = {name: value.clone() for name, value in run.network.state_dict().items()}
    posteriors = run.posteriors
    ranks = _ranks(posteriors, measure, run.config.seed)
    reached = []
    for share in _SHARES:
        n_removed = round(share * len(ranks))
        parts = (ranks < n_removed).split([p.mean.numel() for p in posteriors])
        for posterior, part in zip(posteriors, parts, strict=True):
            posterior.remove(part.view_as(posterior.mean).to(posterior.mean.device))
        reached.append(_accuracy(run))
    run.network.load_state_dict(before)
    return np.array(reached)


def _ranks(posteriors: Sequence[Posterior], measure: str, seed: int) -> Tensor:
    """The place of every parameter in the order of removal, over the whole network."""
    generator = torch.Generator().manual_seed(seed)
    mean = torch.cat([p.mean.flatten().cpu() for p in posteriors])
    var = torch.cat([(p.mean if p.var is None else p.var).flatten().cpu() for p in posteriors])
    order = _MEASURES[measure](mean, var, generator).argsort(stable=True)
    return torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))


def _accuracy(run: TrainedRun) -> float:
    """Mean accuracy over tasks, each by its own head."""
    stream = run.stream
    found = [evaluate(run.network, task, task.evaluation, i) for i, task in enumerate(stream)]
    return float(np.mean([one.accuracy for one in found]))


def share_at_fall(loss: metrics.Vector, fall: float = _FALL) -> float:
    """The share at which so much accuracy is lost for the first time, between two points."""
    is_over = np.flatnonzero(loss >= fall)
    if not len(is_over):
        return 1.0
    i = int(is_over[0])
    return float(np.interp(fall, loss[i - 1 : i + 1], _SHARES[i - 1 : i + 1]))


def _zoom_start(groups: Sequence[Group], curves: Sequence[Curve]) -> float:
    """A share well before the fall of the network whose best order holds shortest."""
    best = (max(share_at_fall(c.loss) for c in curves if c.group is group) for group in groups)
    return max(0.0, min(best) - 0.35)


def _label(group: Group, measure: str) -> str:
    order = {"snr": "by SNR", "random": "at random"}.get(measure, f"by {measure}")
    return f"{group.label} {order}"


def _of(curves: Sequence[Curve], group: Group, measure: str) -> list[Curve]:
    return [c for c in curves if c.group is group and c.measure == measure]


def _draw(axes: Axes, groups: Sequence[Group], curves: Sequence[Curve], split: str) -> None:
    shares = 100 * np.array(_SHARES)
    for group in groups:
        for measure in measures_of(group.runs[0]):
            losses = 100 * np.array([c.loss for c in _of(curves, group, measure)])
            style = curve(group.family, list(_MEASURES).index(measure), group.place)
            axes.plot(shares, losses.mean(0), label=_label(group, measure), **style)
            band = {"color": style["color"], "alpha": 0.15, "linewidth": 0}
            axes.fill_between(shares, losses.min(0), losses.max(0), **band)
    axes.set_xlabel("parameters pruned (%)")
    axes.set_ylabel(f"loss of {split} accuracy (points)")


def _rows(curves: Sequence[Curve]) -> list[Row]:
    return [
        {
            "method": c.group.label,
            "seed": c.run.config.seed,
            "measure": c.measure,
            "share": share,
            "accuracy": f"{accuracy:.6f}",
            "loss": f"{loss:.6f}",
            "run": c.run.folder.name,
        }
        for c in curves
        for share, accuracy, loss in zip(_SHARES, c.accuracy, c.loss, strict=True)
    ]


def _summary(groups: Sequence[Group], curves: Sequence[Curve], split: str) -> Summary:
    """One line for each curve, that which holds longest first."""
    found: list[tuple[float, list[str]]] = []
    for group in groups:
        for measure in measures_of(group.runs[0]):
            mine = _of(curves, group, measure)
            shares = [share_at_fall(c.loss) for c in mine]
            whole = several_values([float(c.accuracy[0]) for c in mine], "{:.2%}".format)
            row = [_label(group, measure), whole, several_values(shares, "{:.1%}".format)]
            found.append((float(np.mean(shares)), row))
    found.sort(key=lambda pair: -pair[0])
    columns = ["", f"{split} accuracy", f"share pruned at a loss of {100 * _FALL:g} point"]
    return table(
        f"Pruning: {about([r for g in groups for r in g.runs])}", columns, [r for _, r in found]
    )
