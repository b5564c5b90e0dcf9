"""Whole grids that were really trained, kept as accuracy matrices: what searches are judged by.

    python -m tests.performance.recorded_grids --grids ppbi_paper_5      # trains it again

Digits in five and in two tasks, an MLP with two layers of 50, three seeds of every point, trained
by our own service with shared first tasks. The grids are the paper's, and so are the variances
(Adam moves rho, so that its start matters) and the linear map. Natural steps, our default, forget
within a task where a variance began, and our search spaces do not search rho: 84 and 60 points,
which 64 trials all but exhaust. Training is short, so that the best points leave room above them.
"""

import argparse
import json
import lzma
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from sweeper.config.space import Values
from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver.launching import launch
from sweeper.driver.preparation import Options
from sweeper.ledger import key_of, open_ledger
from sweeper.results.records import Matrix

FILE = Path(__file__).parent / "data" / "grids.json.xz"
SEEDS = (0, 1, 2)

_BOTH = {
    "layers.rho": {"grid": [-10, -12, -14, -16, -18]},
    "method.tau_0": {"grid": [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]},
    "method.measure": {"choice": ["var", "snr"]},
}
_LATER: dict[str, dict[str, Any]] = {
    "ppbi": {"method.tau_max": {"grid": [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]}},
    "lra": {"method.alpha_max": {"grid": [1e-3, 1e-4, 1e-5]}},
}


@dataclass(frozen=True)
class RecordedGrid:
    """All points of a search space with what came of each.

    Args:
        blocks: of its sweep, without how to search.
        matrices: by the key of a point, one per seed.
    """

    blocks: dict[str, Any]
    matrices: dict[str, list[Matrix]]

    @property
    def n_tasks(self) -> int:
        """The tasks of a run."""
        return len(next(iter(self.matrices.values()))[0])

    def matrices_of(self, values: Values, places: Sequence[int]) -> list[Matrix]:
        """What a point came to with some of the seeds."""
        return [self.matrices[key_of(values)][place] for place in places]


def acc(matrices: Sequence[Matrix]) -> float:
    """The mean of the last rows."""
    last = [accuracy for R in matrices for accuracy in R[-1] if accuracy is not None]
    return sum(last) / len(last)


def blocks_of(method: str, n_tasks: int) -> dict[str, Any]:
    """The run and the space of a grid."""
    run = {
        "benchmark": {"name": "digits", "n_tasks": n_tasks},
        "network": {"name": "mlp", "hidden": [50, 50]},
        "layers": {"likelihood": "expected_softmax"},
        "method": {"name": method, "variance": "adam", "scale": "linear", "guard": 0.0},
        "training": {"epochs": 12, "batch_size": 50, "warmup_steps": 5},
        "seed": SEEDS[0],
    }
    return {"run": run, "space": {**_BOTH, **_LATER[method]}}


GRIDS = {f"{method}_paper_{n}": blocks_of(method, n) for n in (5, 2) for method in _LATER}


def sweeps() -> list[Sweep]:
    """One per grid: every point, all seeds."""
    how = {"sweep": {"sampler": "grid", "repeats": len(SEEDS)}, "select": {"top": 0}}
    return [parse_sweep({**blocks, **how}, name) for name, blocks in GRIDS.items()]


def record(names: Sequence[str], folder: Path, resume: bool) -> None:
    """Train some of them as one queue, and keep what came of it beside the others."""
    every, console = [sweep for sweep in sweeps() if sweep.name in names], Console()
    code = launch(every, Options(folder, is_folder=True, resume=resume), console)
    assert code == 0, code
    found = json.loads(lzma.decompress(FILE.read_bytes())) if FILE.exists() else {}
    for sweep in every:
        trials = {t.key: t for t in open_ledger(folder / sweep.name).trial_records()}
        points = [trials[key_of(point)] for point in sweep.space.points()]
        found[sweep.name] = [[_rounded(R) for R in trial.R] for trial in points]
    text = json.dumps(found, separators=(",", ":"))
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_bytes(lzma.compress(text.encode(), preset=9))


def _rounded(R: Matrix) -> Matrix:
    """The part of a matrix that is known, short enough for a file."""
    return [[a if a is None else round(a, 6) for a in row[: t + 1]] for t, row in enumerate(R)]


def load(file: Path = FILE) -> dict[str, RecordedGrid]:
    """The grids that were recorded, by name."""
    found = json.loads(lzma.decompress(file.read_bytes()))
    return {sweep.name: _grid(sweep, found[sweep.name]) for sweep in sweeps()}


def _grid(sweep: Sweep, rows: list[list[Matrix]]) -> RecordedGrid:
    points = sweep.space.points()
    return RecordedGrid(
        GRIDS[sweep.name],
        {key_of(point): matrices for point, matrices in zip(points, rows, strict=True)},
    )


def main() -> None:
    """Record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--grids", nargs="*", default=list(GRIDS), choices=list(GRIDS))
    parser.add_argument("--folder", type=Path, help="where the sweeps go; by default a new one")
    parser.add_argument("--resume", action="store_true", help="go on in that folder")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    record(options.grids, folder, options.resume)
    print(f"{FILE}: {FILE.stat().st_size} bytes, from {folder}")


if __name__ == "__main__":
    main()
