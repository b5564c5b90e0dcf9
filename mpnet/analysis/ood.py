"""Whether a network knows what it has never seen: images of another data set stand out."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from sklearn.metrics import roc_auc_score

from mpnet import datasets
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
from mpnet.analysis._figure import colour, sheet
from mpnet.analysis._runs import Group, TrainedRun, about, groups_of
from mpnet.analysis.calibration import answers_of
from mpnet.benchmarks import Examples, Split
from mpnet.errors import ConfigError
from mpnet.evaluation import Answers, answers
from mpnet.metrics import Vector

_N_BINS = 60
_TINY = 1e-8  # what is below it is shown there; single precision knows no confidence nearer to 1


class _Judged(NamedTuple):
    """Answers of one run to its own images and to foreign ones."""

    group: Group
    run: TrainedRun
    own: Answers
    foreign: Answers

    def auroc(self, score: str) -> float:
        """Chance that a foreign image has the higher score; NaN if the network has no such."""
        own, foreign = (_SCORES[score](a) for a in (self.own, self.foreign))
        if np.isnan(own).any():
            return float("nan")
        is_foreign = np.repeat([0, 1], [len(own), len(foreign)])
        return float(roc_auc_score(is_foreign, np.concatenate([own, foreign])))


# What should be high for an image from elsewhere.
_SCORES = {
    "variance": lambda answers: answers.variance,
    "1 - confidence": lambda answers: 1 - answers.confidence,
}


@analysis("ood", several=True)
def ood(
    runs: Sequence[TrainedRun], watch: Watch = unwatched, *, against: str = "fashion_mnist"
) -> Finding:
    """Out of distribution: does the predictive variance tell foreign images (--against)?"""
    _check(runs, against)
    groups = groups_of(runs)
    jobs = [(group, run) for group in groups for run in group.runs]
    judged = [
        _Judged(g, run, answers_of(run), _foreign_answers(run, against))
        for g, run in watch(jobs, "asking")
    ]
    title = f"Own images against {against}\n{about(runs)}"
    figure, axes = sheet(title, rows=len(groups), columns=2)
    for place, group in enumerate(groups):
        mine = [j for j in judged if j.group is group]
        for panel, score in zip(axes[2 * place : 2 * place + 2], _SCORES, strict=True):
            _draw(panel, mine, score, against)
    return Finding("ood", figure, _rows(judged, against), _summary(groups, judged, against))


def _check(runs: Sequence[TrainedRun], against: str) -> None:
    """Check that the images of the other set fit.

    Raises:
        ConfigError: they do not, or there is no such set.
    """
    shape = datasets.dataset(against).shape
    for run in runs:
        own = tuple(run.stream[0].evaluation.pool.shape[1:])
        if shape != own:
            raise ConfigError(
                f"--against: images must have the shape {own} of those that {run.folder} was "
                f"trained on, but {against} has {shape}; give another set."
            )


def _foreign_answers(run: TrainedRun, against: str) -> Answers:
    """Answers to foreign images: as many for each task as it has of its own, prepared alike."""
    part: datasets.Part = "test" if run.config.split == "test" else "train"
    images, labels = datasets.load(against, part, run.config.data_root)
    pool, index = torch.from_numpy(images), torch.arange(len(images))
    split = Split(pool, index, torch.from_numpy(labels)).to(run.stream[0].train.pool.device)
    found = []
    for i, task in enumerate(run.stream):
        examples = Examples(split, task.prepare).thinned(len(task.evaluation))
        found.append(answers(run.network, examples, i))
    return Answers(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _draw(axes: Axes, judged: Sequence[_Judged], score: str, against: str) -> None:
    family, label = judged[0].group.family, judged[0].group.label
    own, foreign = (
        np.log10(np.maximum(np.concatenate([_SCORES[score](a) for a in column]), _TINY))
        for column in ([j.own for j in judged], [j.foreign for j in judged])
    )
    if np.isnan(own).any():
        axes.set_title(f"{label}: no {score}", fontsize=9)
        axes.set_axis_off()
        return
    auroc = np.mean([j.auroc(score) for j in judged])
    axes.set_title(f"{label}: AUROC {auroc:.3f}", fontsize=9)
    axes.set(xlabel=f"log10 of {score}", ylabel="images (%)")
    bins = np.linspace(*_limits(own, foreign), _N_BINS)
    styles = ((own, "own", colour(family), True), (foreign, against, "black", False))
    for values, name, shade, is_filled in styles:
        weights = np.full(len(values), 100 / len(values))
        kind = {"histtype": "stepfilled", "alpha": 0.6} if is_filled else {"histtype": "step"}
        axes.hist(values, bins, weights=weights, color=shade, label=name, **kind)  # type: ignore[arg-type]
    axes.legend(fontsize=8)


def _limits(own: Vector, foreign: Vector) -> tuple[float, float]:
    values = np.concatenate([own, foreign])
    return float(values.min()), float(values.max()) + 1e-6


def _rows(judged: Sequence[_Judged], against: str) -> list[Row]:
    return [
        {
            "method": j.group.label,
            "seed": j.run.config.seed,
            "images": name,
            "confidence": f"{confidence:.6g}",
            "variance": f"{variance:.6g}",
            "run": j.run.folder.name,
        }
        for j in judged
        for name, found in (("own", j.own), (against, j.foreign))
        for confidence, variance in zip(found.confidence, found.variance, strict=True)
    ]


def _summary(groups: Sequence[Group], judged: Sequence[_Judged], against: str) -> Summary:
    rows = []
    for group in groups:
        mine = [j for j in judged if j.group is group]
        values = ([j.auroc(score) for j in mine] for score in _SCORES)
        rows.append([group.label, *(several_values(v, "{:.4f}".format) for v in values)])
    title = f"AUROC against {against}: {about([j.run for j in judged])}"
    return table(title, ["", *(f"by {score}" for score in _SCORES)], rows)
