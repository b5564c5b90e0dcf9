"""What a run leaves in its folder, and how it looks on a terminal."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from mpnet import metrics
from mpnet.config import RunConfig
from mpnet.continual import Results
from mpnet.environment import environment
from mpnet.metrics import Matrix

RESULT = "result.json"
CONFIG = "config.json"


def as_lists(matrix: Matrix) -> list[list[float | None]]:
    """A matrix for JSON, where NaN has no name."""
    return [[None if np.isnan(value) else float(value) for value in row] for row in matrix]


def summary_line(results: Results) -> dict[str, Any]:
    """The final line of a run: all metrics and R, and what else is known after the last task."""
    found = results.selectivity[-1]
    last = {
        "calibration_error": float(results.calibration_error[-1].mean()),
        "variance": float(results.variance[-1].mean()),
        **(found.trunk.shares() if found else {}),
    }
    return {**metrics.summary(results.R), **last, "R": as_lists(results.R)}


def json_text(content: Mapping[str, Any], indent: int | None = None) -> str:
    """A mapping as JSON, which has no NaN: what is not known is null."""
    known = {name: None if value != value else value for name, value in content.items()}
    return json.dumps(known, indent=indent, allow_nan=False)


def write_results(folder: Path, config: RunConfig, results: Results) -> None:
    """Write matrices and metrics as JSON, R as CSV and as a picture, configuration, versions."""
    folder.mkdir(parents=True, exist_ok=True)
    by_task: dict[str, Any] = {
        f"{name}_by_task": as_lists(matrix)
        for name, matrix in results.matrices.items()
        if name != "R"
    }
    if any(results.selectivity):
        by_task["selectivity_by_task"] = [one and one.as_dict() for one in results.selectivity]
    if results.data_sets:
        by_task["data_set_by_task"] = list(results.data_sets)
    content = {**summary_line(results), **by_task, "split": config.split, "seed": config.seed}
    R = results.R
    (folder / RESULT).write_text(json_text(content, indent=2) + "\n")
    (folder / CONFIG).write_text(config.model_dump_json(indent=2) + "\n")
    (folder / "R.csv").write_text(csv_of(as_lists(R), results.data_sets))
    (folder / "R.png").write_bytes(picture(results, config))
    (folder / "environment.json").write_text(json.dumps(environment(), indent=2) + "\n")


def picture(results: Results, config: RunConfig) -> bytes:
    """R as a heat map."""
    from mpnet.pictures import heat_map  # Matplotlib takes a second: not at the start

    title = f"{config.split} accuracy, seed {config.seed}"
    return heat_map(results.R, title, results.data_sets)


def csv_of(R: Sequence[Sequence[float | None]], data_sets: Sequence[str] = ()) -> str:
    """One row per trained task; empty above the diagonal."""
    names = [
        f"task_{i + 1}_{name}".rstrip("_") for i, name in enumerate(data_sets or [""] * len(R))
    ]
    head = ",".join(["after_task", *names])
    rows = [
        ",".join([str(t + 1), *("" if value is None else repr(value) for value in row)])
        for t, row in enumerate(R)
    ]
    return "\n".join([head, *rows]) + "\n"


def table(results: Results, config: RunConfig) -> Table:
    """R in percent, coloured."""
    R = results.R
    method, benchmark = config.method["name"], config.benchmark["name"]
    shown = Table(
        title=f"{method} on {benchmark}: {config.split} accuracy in %, seed {config.seed}",
        caption=f"ACC {metrics.acc(R):.2%}   BWT {metrics.bwt(R):+.2%}",
    )
    shown.add_column("after")
    sets = results.data_sets or [""] * len(R)
    for i, name in enumerate(sets):
        shown.add_column(f"task {i + 1}\n{name}".rstrip(), justify="right")
    for t, row in enumerate(R):
        shown.add_row(f"task {t + 1} {sets[t]}".rstrip(), *(_cell(value) for value in row))
    return shown


def selectivity_by_task(results: Results) -> list[dict[str, Any]]:
    """How selectively the trunk is protected after each task, in short; empty where unknown."""
    known = [found for found in results.selectivity if found is not None]
    is_whole = len(known) == len(results.selectivity)
    return [{**found.trunk.metrics(), "warning": found.warning} for found in known if is_whole]


def selectivity_text(t: int, results: Results) -> Text | None:
    """How selectively the trunk is protected after task `t`; None where it is not."""
    found = results.selectivity[t]
    if found is None:
        return None
    line = Text(found.line(t))
    return line.append(f"\n{found.warning}", style="yellow") if found.warning else line


def _cell(value: float) -> str:
    if np.isnan(value):
        return ""
    colour = "green" if value >= 0.95 else "yellow" if value >= 0.8 else "red"
    return f"[{colour}]{100 * value:.2f}[/]"
