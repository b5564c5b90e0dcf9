"""What a large ledger costs to look at: CPU seconds and memory of `sweeper status` and `report`.

Writes a sweep of many trials that never ran, as long ones leave it, and looks at it in processes
of their own; prints a small table.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from sweeper.config.sweep import parse_sweep
from sweeper.ledger import Ledger

_N_TASKS, _N_EPOCHS = 5, 30
_SPACE = {
    "method.tau_max": {"log_uniform": [1e-6, 1e-2]},
    "training.learning_rate": {"log_uniform": [1e-5, 1e-2]},
    "layers.rho": {"uniform": [-12, -2]},
}


def write_large_sweep(folder: Path, n_trials: int) -> None:
    """A random search of PPBI on five tasks, all of it done."""
    draw = random.Random(0)
    run = {
        "benchmark": {"name": "split_mnist", "n_tasks": _N_TASKS},
        "network": {"name": "mlp", "hidden": [800, 800]},
        "layers": {"rho": -12},
        "method": {"name": "ppbi", "tau_max": 1e-4, "measure": "var"},
        "training": {"epochs": _N_EPOCHS, "batch_size": 128, "learning_rate": 1e-3},
        "seed": 0,
        "split": "validation",
        "device": "cpu",
    }
    settings = {"sampler": "random", "trials": n_trials}
    sweep = parse_sweep({"run": run, "space": _SPACE, "sweep": settings}, "large")
    ledger = Ledger(folder)
    ledger.begin(sweep)
    stage = ledger.search(sweep)
    with ledger.together():
        while asked := stage.ask():
            stage.note_run(asked.number, run)
            stage.finish(asked.number, _outcome(draw))


def _outcome(draw: random.Random) -> dict[str, Any]:
    R = [[draw.random() if i <= t else None for i in range(_N_TASKS)] for t in range(_N_TASKS)]
    last = [value for value in R[-1] if value is not None]
    acc, bwt = sum(last) / _N_TASKS, -draw.random()
    steps = range(1, _N_TASKS * _N_EPOCHS + 1)
    return {
        "metrics": {"acc": acc, "bwt": bwt, "bwt_gem": bwt, "forgetting": -bwt},
        "seeds": [0],
        "R": [R],
        "curves": [[[step, round(draw.random(), 6), draw.random()] for step in steps]],
        "selectivity": [[]],
        "first_tasks": [],
        "versions": {"torch": "2.9.0", "python": "3.12", "commit": "0" * 40},
        "seconds": 100 * draw.random(),
    }


def measured(folder: Path, command: str) -> tuple[float, float]:
    """CPU seconds and megabytes at the peak of a command of `sweeper` on the folder."""
    words = [sys.executable, "-m", "sweeper", command, str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Write, look, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=5000)
    n_trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_large_sweep(folder, n_trials)
        size = (folder / "study.journal").stat().st_size / 1e6
        print(f"{n_trials} trials, {size:.1f} MB of ledger; this process had {_peak():.0f} MB")
        for command in ("status", "report"):
            seconds, megabytes = measured(folder, command)
            print(f"{command:8} {seconds:6.2f} s of CPU  {megabytes:6.0f} MB")
        print(f"report.html: {(folder / 'report.html').stat().st_size / 1e6:.1f} MB")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
