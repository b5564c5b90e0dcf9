"""Whether a network is right as often as it says: reliability diagram and calibration error."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

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
from mpnet.analysis._figure import curve, log_axis, sheet
from mpnet.analysis._runs import Group, TrainedRun, about, groups_of
from mpnet.evaluation import Answers, answers
from mpnet.metrics import Reliability, calibration_error, reliability

_FEW = 10  # answers, below which their share that is right says nothing


class _Judged(NamedTuple):
    """The answers of one run to all its tasks."""

    group: Group
    run: TrainedRun
    answers: Answers

    @property
    def error(self) -> float:
        return calibration_error(self.answers.confidence, self.answers.is_right)

    @property
    def accuracy(self) -> float:
        return float(self.answers.is_right.mean())

    @property
    def confidence(self) -> float:
        return float(self.answers.confidence.mean())

    @property
    def bins(self) -> Reliability:
        return reliability(self.answers.confidence, self.answers.is_right)


@analysis("calibration", several=True)
def calibration(runs: Sequence[TrainedRun], watch: Watch = unwatched) -> Finding:
    """Reliability diagram and expected calibration error."""
    groups = groups_of(runs)
    jobs = [(group, run) for group in groups for run in group.runs]
    judged = [_Judged(g, run, answers_of(run)) for g, run in watch(jobs, "asking")]
    split = runs[0].config.split
    figure, axes = sheet(
        f"Is the network right as often as it says? ({split} data)\n{about(runs)}",
        rows=2,
        height_ratios=(3, 1),
    )
    for group in groups:
        _draw(axes[0], axes[1], group, [j for j in judged if j.group is group])
    axes[0].plot([0, 100], [0, 100], color="black", linewidth=0.7, label="as it should be")
    axes[0].set(ylabel="right (%)", xlim=(0, 100), ylim=(0, 102))
    axes[0].legend(fontsize=8)
    axes[1].set(xlabel="confidence (%)", ylabel="answers (%)", xlim=(0, 100), ylim=(0.01, 110))
    log_axis(axes[1], "y", (0.01, 100))
    return Finding("calibration", figure, _rows(judged), _summary(groups, judged, split))


def answers_of(run: TrainedRun) -> Answers:
    """Answers to the judged examples of all tasks, each by its own head, one after another."""
    found = [
        answers(run.network, task.examples(task.evaluation), i)
        for i, task in enumerate(run.stream)
    ]
    return Answers(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _draw(above: Axes, below: Axes, group: Group, judged: Sequence[_Judged]) -> None:
    """Draw the answers of all seeds together."""
    pooled = Answers(*(np.concatenate(c) for c in zip(*(j.answers for j in judged), strict=True)))
    bins = reliability(pooled.confidence, pooled.is_right)
    style = curve(group.family, place=group.place)
    for axes, values, least in ((above, bins.accuracy, _FEW), (below, bins.n / bins.n.sum(), 1)):
        is_shown = bins.n >= least
        x, y = 100 * bins.confidence[is_shown], 100 * values[is_shown]
        axes.plot(x, y, label=group.label, **style)


def _rows(judged: Sequence[_Judged]) -> list[Row]:
    return [
        {
            "method": j.group.label,
            "seed": j.run.config.seed,
            "bin": place + 1,
            "answers": int(n),
            "confidence": f"{confidence:.6f}",
            "accuracy": f"{accuracy:.6f}",
            "run": j.run.folder.name,
        }
        for j in judged
        for place, (n, confidence, accuracy) in enumerate(zip(*j.bins, strict=True))
    ]


def _summary(groups: Sequence[Group], judged: Sequence[_Judged], split: str) -> Summary:
    rows = []
    for group in groups:
        mine = [j for j in judged if j.group is group]
        columns = ("error", "accuracy", "confidence")
        values = ([getattr(j, name) for j in mine] for name in columns)
        rows.append([group.label, *(several_values(v, "{:.2%}".format) for v in values)])
    title = f"Calibration on {split} data: {about([j.run for j in judged])}"
    return table(title, ["", "ECE", "accuracy", "mean confidence"], rows)
