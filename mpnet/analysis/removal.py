"""What a variance means: whether it tells which single parameters a task would miss."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, Gt

from mpnet.analysis._base import Finding, Row, Summary, Watch, analysis, table, unwatched
from mpnet.analysis._increase import Change, Choice, draw, loss_increases, precise, shift_by
from mpnet.analysis._orders import WITH_VARIANCE, WITHOUT_VARIANCE, Order
from mpnet.analysis._ranks import Correlation, correlation
from mpnet.analysis._removal_figure import Drawing, drawn
from mpnet.analysis._runs import TrainedRun, about, groups_of
from mpnet.errors import ConfigError
from mpnet.layers import Posterior
from mpnet.metrics import Vector

Kind = Literal["removal", "shift"]
Count = Annotated[int, Ge(10)]
Correlations = Mapping[str, Mapping[str, Correlation]]  # by order, then by layer

_ALL = "all"
_COUNTS, _COUNTS_OF_CONVOLUTIONS = (300, 1000), (40, 250)  # parameters per layer, and images
# To second order a removal costs mean^2 g, with g the derivative of the loss by the variance; and
# 1 / var = 1 / prior_var + 2 g / tau where the ELBO is stationary, with 1 for the first prior_var.
_NEED_VARIANCE: dict[str, Order] = WITH_VARIANCE | {
    "mean^2 / variance": lambda mean, var, generator: mean.square() / var,
    "second order": lambda mean, var, generator: mean.square() * (1 / var - 1),
}
_ORDERS = _NEED_VARIANCE | WITHOUT_VARIANCE


class _Plan(NamedTuple):
    """What is done to which parameters of a run."""

    kind: Kind
    delta: float
    t: int
    n_weights: int
    n_images: int

    @property
    def changes(self) -> list[Change]:
        if self.kind == "removal":
            return [Posterior.remove]
        return [shift_by(self.delta), shift_by(-self.delta)]  # of both the mean: the curvature

    @property
    def title(self) -> str:
        shifted = f"shifted by +-{self.delta:g}"
        return f"single parameters are {'removed' if self.kind == 'removal' else shifted}"


class _Layer(NamedTuple):
    """Parameters drawn from a layer, and what a change of each does to the loss."""

    name: str
    choices: Sequence[Choice]
    increases: Vector


class _Measured(NamedTuple):
    """One run: its layers, and how well every order foretells the increases of the loss."""

    label: str
    run: TrainedRun
    plan: _Plan
    layers: Sequence[_Layer]
    of_size: Correlations
    of_signed: Correlations


@analysis("removal", several=True)
def removal(
    runs: Sequence[TrainedRun],
    watch: Watch = unwatched,
    *,
    kind: Kind = "removal",
    delta: Annotated[float, Gt(0)] = 1e-3,
    task: int | None = None,
    n_weights: Count | None = None,
    n_images: Count | None = None,
) -> Finding:
    """What a variance means: does it tell which single parameters a task would miss?

    Args:
        runs: to look at, each by itself.
        watch: shows progress.
        kind: "removal" of a parameter, or "shift" of its mean both ways, which leaves the
            curvature: what an update does to a task that is no longer trained.
        delta: how far means are shifted. Further, more units cross zero on some image, where the
            first-order ReLU lets a variance through or not: jumps that hide the curvature.
        task: whose loss is measured, from 1; None for the last.
        n_weights: drawn from every layer of the trunk; None for 300, or 40 with convolutions.
        n_images: of the split that the run may see; None for 1,000, or 250 with convolutions.
    """
    plans = [_plan(run, kind, delta, task, (n_weights, n_images)) for run in runs]
    jobs = [
        (run, plan, layer) for run, plan in zip(runs, plans, strict=True) for layer in _trunk(run)
    ]
    found = [_layer(*job) for job in watch(jobs, "changing")]
    measured = []
    for run, plan in zip(runs, plans, strict=True):
        layers = [one for job, one in zip(jobs, found, strict=True) if job[0] is run]
        measured.append(_correlated(_label(run, runs), run, plan, layers))
    figure = drawn(_heading(measured), [_drawing(one) for one in measured])
    rows = [row for one in measured for row in _rows(one)]
    details = {"weights": [row for one in measured for row in _weight_rows(one)]}
    name = "removal" if kind == "removal" else f"removal_{kind}"
    return Finding(name, figure, rows, _summary(measured), details)


def orders_of(run: TrainedRun) -> list[str]:
    """The orders of importance that the trunk of this run offers."""
    trunk = (p for layer in _trunk(run).values() for p in layer)
    is_certain = all(posterior.var is not None for posterior in trunk)
    return [name for name in _ORDERS if is_certain or name in WITHOUT_VARIANCE]


def _plan(
    run: TrainedRun,
    kind: Kind,
    delta: float,
    task: int | None,
    counts: tuple[int | None, int | None],
) -> _Plan:
    """The plan of a run, with what it needs where nothing was asked for.

    Raises:
        ConfigError: the run has no such task.
    """
    n_tasks = len(run.stream)
    if task is not None and not 1 <= task <= n_tasks:
        raise ConfigError(
            f"{run.folder}: removal: task must lie in 1 ... {n_tasks}, but got {task}."
        )
    has_images = any(p.mean.ndim == 4 for p in run.posteriors)
    usual = _COUNTS_OF_CONVOLUTIONS if has_images else _COUNTS
    n_weights, n_images = (u if n is None else n for n, u in zip(counts, usual, strict=True))
    t = n_tasks - 1 if task is None else task - 1
    return _Plan(kind, delta, t, n_weights, min(n_images, len(run.stream[t].evaluation)))


def _trunk(run: TrainedRun) -> dict[str, list[Posterior]]:
    """Tensors that all tasks share, by the name of their layer."""
    layers: dict[str, list[Posterior]] = {}
    for posterior in run.posteriors:
        if posterior.path.startswith("trunk."):
            layers.setdefault(run.layer_of(posterior), []).append(posterior)
    return layers


def _layer(run: TrainedRun, plan: _Plan, name: str) -> _Layer:
    """Draw parameters of a layer and change each of them by itself."""
    task = run.stream[plan.t]
    examples = task.examples(task.evaluation).thinned(plan.n_images)
    network = precise(run.network)
    paths = {p.path for p in _trunk(run)[name]}
    posteriors = [p for p in network.layers.posteriors(network) if p.path in paths]
    generator = torch.Generator().manual_seed(run.config.seed)
    choices = draw(posteriors, plan.n_weights, generator)
    return _Layer(name, choices, loss_increases(network, choices, examples, plan.t, plan.changes))


def _correlated(label: str, run: TrainedRun, plan: _Plan, layers: Sequence[_Layer]) -> _Measured:
    """Hold every order against the increases, in each layer and over all that was drawn."""
    choices = [choice for layer in layers for choice in layer.choices]
    mean, var = (torch.tensor([c[i] for c in choices], dtype=torch.float64) for i in (3, 4))
    increases = np.concatenate([layer.increases for layer in layers])
    names = np.repeat([layer.name for layer in layers], [len(layer.choices) for layer in layers])
    parts = {_ALL: np.full(len(names), True)} | {one.name: names == one.name for one in layers}
    of_size: dict[str, dict[str, Correlation]] = {}
    of_signed: dict[str, dict[str, Correlation]] = {}
    for order in orders_of(run):
        generator = torch.Generator().manual_seed(run.config.seed + 1)  # not that of the draw
        values = _ORDERS[order](mean, var, generator).numpy()
        pairs = {part: (values[mask], increases[mask]) for part, mask in parts.items()}
        of_size[order] = {part: correlation(x, np.abs(y)) for part, (x, y) in pairs.items()}
        of_signed[order] = {part: correlation(x, y) for part, (x, y) in pairs.items()}
    return _Measured(label, run, plan, layers, of_size, of_signed)


def _label(run: TrainedRun, runs: Sequence[TrainedRun]) -> str:
    """The label of its group, with the seed where the group has several."""
    (group,) = (group for group in groups_of(runs) if run in group.runs)
    return group.label if len(group.runs) == 1 else f"{group.label}, seed {run.config.seed}"


def _heading(measured: Sequence[_Measured]) -> str:
    first, runs = measured[0], [one.run for one in measured]
    what = f"{first.plan.n_images:,} {first.run.config.split} images of task {first.plan.t + 1}"
    return f"Increase of the loss when {first.plan.title}; {what}\n{about(runs)}"


def _drawing(one: _Measured) -> Drawing:
    """The drawing of a run against the variance, or against the magnitude where there is none."""
    column = "variance" if "variance" in one.of_size else "magnitude"
    place, name = (4, column) if column == "variance" else (3, "|mean|")
    points = {
        layer.name: (np.abs([c[place] for c in layer.choices]), np.abs(layer.increases))
        for layer in one.layers
    }
    return Drawing(one.label, one.run.family, name, points, one.of_size, one.of_size[column])


def _rows(one: _Measured) -> list[Row]:
    """The correlations."""
    sizes = {layer.name: len(layer.choices) for layer in one.layers}
    sizes[_ALL] = sum(sizes.values())
    return [
        {
            "run": one.label,
            "folder": one.run.folder.name,
            "kind": one.plan.kind,
            "task": one.plan.t + 1,
            "of": of,
            "order": order,
            "layer": part,
            "parameters": sizes[part],
            **{name: f"{value:.4f}" for name, value in found._asdict().items()},
        }
        for of, table_ in (("size", one.of_size), ("signed", one.of_signed))
        for order, by_part in table_.items()
        for part, found in by_part.items()
    ]


def _weight_rows(one: _Measured) -> list[Row]:
    """The parameters that were drawn."""
    return [
        {
            "run": one.label,
            "layer": layer.name,
            **choice._asdict(),
            "increase": f"{increase:.8g}",
        }
        for layer in one.layers
        for choice, increase in zip(layer.choices, layer.increases, strict=True)
    ]


def _summary(measured: Sequence[_Measured]) -> Summary:
    """A block for each run, with a column for each order."""
    orders = [name for name in _ORDERS if any(name in one.of_size for one in measured)]
    rows = []
    for one in measured:
        rows.append([one.label, *[""] * len(orders)])
        for part in next(iter(one.of_size.values())):
            rows.append([f"  {part}", *_cells(one.of_size, orders, part, "value")])
        for end in ("low", "high"):
            rows.append([f"  {_ALL}, {end} (95 %)", *_cells(one.of_size, orders, _ALL, end)])
        rows.append([f"  {_ALL}, signed", *_cells(one.of_signed, orders, _ALL, "value")])
    title = f"Spearman's correlation of orders with |increase|. {_heading(measured)}"
    return table(title, ["", *orders], rows)


def _cells(found: Correlations, orders: Sequence[str], part: str, field: str) -> list[str]:
    """One number of each order; empty where a run has not that order."""
    return [
        f"{getattr(found[order][part], field):+.2f}" if order in found else "" for order in orders
    ]
