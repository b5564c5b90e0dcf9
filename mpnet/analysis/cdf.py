"""The paper's Figure 1: how certain the parameters of a trained network are."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from matplotlib.axes import Axes
from torch import Tensor

from mpnet import gaussian
from mpnet.analysis._base import Finding, Row, Summary, Watch, analysis, table, unwatched
from mpnet.analysis._figure import colour, log_axis, sequence, sheet
from mpnet.analysis._runs import TrainedRun, about
from mpnet.errors import ConfigError
from mpnet.metrics import Vector

_N_POINTS = 1000  # of a curve: more than print shows
_SHOWN_FROM = 0.005  # of the parameters have means so near to 0 that the rest would be a line
_ALL = "all"
_LABELS = {"snr_db": "SNR |mean| / variance (dB)", "var": "variance"}

Measures = dict[str, Vector]


@analysis("cdf", several=False)
def cdf(runs: Sequence[TrainedRun], watch: Watch = unwatched) -> Finding:
    """Figure 1: distribution of SNR and variance over all parameters, and in each layer."""
    (run,) = runs
    curves = {part: _quantiles(values) for part, values in _measured(run).items()}
    figure, axes = sheet(f"How certain parameters are: {run.title}\n{about(runs)}", columns=2)
    for panel, measure in zip(axes, _LABELS, strict=True):
        _draw(panel, {part: curve[measure] for part, curve in curves.items()}, run.family)
        panel.set_xlabel(_LABELS[measure])
    log_axis(axes[1], "x", curves[_ALL]["var"])
    snr = curves[_ALL]["snr_db"][round(_SHOWN_FROM * _N_POINTS) :]
    axes[0].set_xlim(snr[np.isfinite(snr)].min(), snr.max())
    axes[0].legend(fontsize=8)
    return Finding("cdf", figure, _rows(curves), _summary(run, curves))


def decibels(ratio: Tensor) -> Tensor:
    """Ten times the decimal logarithm; minus infinity for 0."""
    return 10 * ratio.double().log10()


def _measured(run: TrainedRun) -> dict[str, Measures]:
    """The measures of all parameters and of those of each layer, sorted."""
    layers: dict[str, list[tuple[Tensor, Tensor]]] = {_ALL: []}
    for posterior in run.posteriors:
        if posterior.var is None:
            raise ConfigError(
                f"{run.folder}: cdf: every parameter must have a variance, but those of method "
                f"'{run.name}' have none; give a run of ft, lra, ppbi, bbb or ucb."
            )
        pair = posterior.mean.flatten().cpu(), posterior.var.flatten().cpu()
        layers[_ALL].append(pair)
        layers.setdefault(run.layer_of(posterior), []).append(pair)
    return {part: _sorted(pairs) for part, pairs in layers.items()}


def _sorted(pairs: Sequence[tuple[Tensor, Tensor]]) -> Measures:
    mean, var = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    ratio = decibels(gaussian.snr(mean, var))
    return {"snr_db": ratio.sort().values.numpy(), "var": var.double().sort().values.numpy()}


def _quantiles(values: Measures) -> Measures:
    """Values at even steps of the share, from the lowest to the highest."""
    return {name: column[_places(len(column))] for name, column in values.items()}


def _places(n: int) -> Vector:
    return np.linspace(0, n - 1, _N_POINTS).round().astype(int)


def _shares() -> Vector:
    return np.linspace(0, 1, _N_POINTS)


def _draw(axes: Axes, curves: Mapping[str, Vector], family: str) -> None:
    shades = sequence(len(curves) - 1)
    for place, (part, values) in enumerate(curves.items()):
        is_all = part == _ALL
        axes.plot(
            values,
            100 * _shares(),
            label=f"{part} parameters" if is_all else part,
            color=colour(family) if is_all else shades[place - 1],
            linewidth=2.2 if is_all else 1.2,
            linestyle="-" if is_all else ("--", "-.", ":")[(place - 1) % 3],
        )
    axes.set_ylabel("share of parameters (%)")
    axes.set_ylim(0, 100)


def _rows(curves: Mapping[str, Measures]) -> list[Row]:
    return [
        {"layer": part, "share": f"{share:.6f}", **{m: f"{v[i]:.8g}" for m, v in curve.items()}}
        for part, curve in curves.items()
        for i, share in enumerate(_shares())
    ]


def _summary(run: TrainedRun, curves: Mapping[str, Measures]) -> Summary:
    columns = ["parameters", "SNR 5 %", "50 %", "95 %", "variance 5 %", "50 %", "95 %"]
    rows = []
    for part, curve in curves.items():
        at = [round(share * (_N_POINTS - 1)) for share in (0.05, 0.5, 0.95)]
        snr = [f"{curve['snr_db'][i]:.1f} dB" for i in at]
        rows.append([part, *snr, *(f"{curve['var'][i]:.2e}" for i in at)])
    return table(
        f"{run.title}, {about([run])}: at which value so many parameters lie below", columns, rows
    )
