"""The table of the project's own search spaces, before any of them has run."""

from pathlib import Path
from typing import Any

from mpnet.config import parse_run
from sweeper.config.folder import Choice, read_folder
from sweeper.config.space import with_values
from sweeper.config.sweep import Sweep
from sweeper.report.table1.cells import SweepHistory, Table, table_of

FOLDER = Path(__file__).parents[4] / "search_spaces" / "table1"


def folder_table(budget: str | None = None) -> Table:
    sweeps = read_folder(FOLDER, Choice(budget=budget))
    return table_of(
        [SweepHistory(sweep.name, sweep, [], [], bound_runs(sweep)) for sweep in sweeps]
    )


def bound_runs(sweep: Sweep) -> list[dict[str, Any]]:
    points = sweep.space.corners()
    return [parse_run(with_values(sweep.run, point)).model_dump(mode="json") for point in points]
