"""What shared first tasks save: whole grids with and without, on real data, by our own service.

    python -m tests.performance.sharing              # digits in two tasks, PPBI, all 360 points
    python -m tests.performance.sharing --table      # six rows on 2-split MNIST, 316 points

The same sweeps run twice with two workers, first tasks shared and not. Device seconds are what the
trials of the search took in all, as the ledgers have it; `spent` is their ratio, `trainings` the
ratio of the trainings of a task, which no saving can exceed by more than chance. Every accuracy
matrix must be equal in both, bit for bit. Prints one JSON line.
"""

import argparse
import io
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver.launching import launch
from sweeper.driver.preparation import Options
from sweeper.ledger import open_ledger
from sweeper.results.records import TrialRecord

FIRST = {
    "layers.rho": {"grid": [-10, -12, -14, -16, -18]},
    "method.tau_0": {"grid": [1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]},
}
LATER: dict[str, dict[str, Any]] = {
    "ppbi": {"method.tau_max": {"grid": [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7]}},
    "lra": {"method.alpha_max": {"grid": [1e-2, 1e-3, 1e-4]}},
}
MEASURES = {"method.measure": {"choice": ["var", "snr"]}}
SIZES = {"ft": 30, "ff": 30, "lra": 64, "ppbi": 64}  # of the table: trials of a row


def digits(epochs: int) -> list[Sweep]:
    """PPBI on two tasks of five digits: the paper's whole grid."""
    run = {
        "benchmark": {"name": "digits", "n_tasks": 2},
        "network": {"name": "mlp", "hidden": [200, 200]},
        "method": {"name": "ppbi"},
        "training": {"epochs": epochs, "batch_size": 100, "warmup_steps": 5},
    }
    space = {**FIRST, **LATER["ppbi"], **MEASURES}
    return [_sweep("ppbi", run, space, sampler="grid")]


def table(epochs: int, per_class: int) -> list[Sweep]:
    """The six variational rows on two tasks of five classes of MNIST."""
    sweeps = []
    for name, n_trials in SIZES.items():
        run = {
            "benchmark": {"name": "split_mnist", "n_tasks": 2, "max_train_per_class": per_class},
            "network": {"name": "mlp", "hidden": [200, 200]},
            "training": {"epochs": epochs, "batch_size": 100, "warmup_steps": 5},
        }
        for measure in ("var", "snr") if name in LATER else ("",):
            method = {"name": name, **({"measure": measure} if measure else {})}
            space = {**FIRST, **LATER.get(name, {})}
            settings = (
                {"sampler": "random", "trials": n_trials} if measure else {"sampler": "grid"}
            )
            sweeps.append(_sweep(f"{name}{measure}", {**run, "method": method}, space, **settings))
    return sweeps


def _sweep(name: str, run: dict[str, Any], space: dict[str, Any], **settings: Any) -> Sweep:
    blocks = {"run": run, "space": space, "sweep": settings, "select": {"top": 0}}
    return parse_sweep(blocks, name)


def trials_of(
    sweeps: Sequence[Sweep], folder: Path, is_shared: bool
) -> dict[tuple[str, str], TrialRecord]:
    """Run all as one queue; gives the trials by sweep and key."""
    set_to = [
        parse_sweep({**s.blocks, "sweep": {**s.blocks["sweep"], "share_tasks": is_shared}}, s.name)
        for s in sweeps
    ]
    console = Console(file=io.StringIO())
    code = launch(set_to, Options(folder, is_folder=True), console)
    assert code == 0, console.file.getvalue()  # type: ignore[attr-defined]
    return {
        (sweep.name, trial.key): trial
        for sweep in sweeps
        for trial in open_ledger(folder / sweep.name).trial_records()
    }


def compared(sweeps: Sequence[Sweep], folder: Path) -> dict[str, Any]:
    """Both ways, in one run; those without sharing last, when caches are warm."""
    shared = trials_of(sweeps, folder / "shared", is_shared=True)
    alone = trials_of(sweeps, folder / "alone", is_shared=False)
    assert shared.keys() == alone.keys()
    n_all = len(alone)
    shared, alone = ({k: t for k, t in d.items() if t.R} for d in (shared, alone))
    assert shared.keys() == alone.keys()  # who dies of its settings does so in both
    spent = [sum(trial.seconds for trial in found.values()) for found in (alone, shared)]
    n_tasks = len(next(iter(alone.values())).R[0])
    origins = [trial.first_tasks[0] for trial in shared.values()]
    taken, n_first = sum(o["is_taken"] for o in origins), len({o["name"] for o in origins})
    n_trainings = len(alone) * n_tasks
    return {
        "trials": n_all,
        "died": n_all - len(alone),
        "first_tasks": n_first,
        "trained_twice": len(alone) - taken - n_first,
        "trainings": round(n_trainings / (n_trainings - taken), 2),
        "device_seconds": [round(seconds, 1) for seconds in spent],
        "spent": round(spent[0] / spent[1], 2),
        "equal": sum(shared[key].R == alone[key].R for key in alone),
    }


def main() -> None:
    """Compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--table", action="store_true", help="six rows on 2-split MNIST")
    parser.add_argument("--epochs", type=int, default=40, help="of each task")
    parser.add_argument("--per-class", type=int, default=100, help="images, of the table")
    options = parser.parse_args()
    sweeps = table(options.epochs, options.per_class) if options.table else digits(options.epochs)
    with tempfile.TemporaryDirectory() as folder:
        found = compared(sweeps, Path(folder))
    print(json.dumps({"what": "table" if options.table else "digits", **found}))


if __name__ == "__main__":
    main()
