"""How the scheduler keeps workers busy: trials that only sleep, on 1, 2 and 4 workers.

    python -m tests.performance.scaling --seconds 8 --per-worker 8

A worker is one logical CPU of a local Ray. Efficiency is the time that the sleeping itself takes
over the time that the search took, the start of the workers included (at least 0.9 wanted). Real
training cannot scale beyond the real cores. Prints a line each and one JSON line.
"""

import argparse
import functools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import ray

from sweeper.driver import cluster
from tests.sweeper.reporting import report_outcome, x_of
from tests.sweeper.studies import run_trials

WORKERS = (1, 2, 4)


def sleeping_trial(config: dict[str, Any], seconds: float) -> None:
    """Busy without a CPU."""
    time.sleep(seconds)
    report_outcome(x_of(config))


def efficiency(n_workers: int, per_worker: int, seconds: float) -> float:
    """Of a search with this many workers."""
    trial = functools.partial(sleeping_trial, seconds=seconds)
    share = cluster.Share(1, 0, n_workers)
    with tempfile.TemporaryDirectory() as folder:
        took, _ = run_trials(trial, n_workers * per_worker, share, Path(folder))
    return per_worker * seconds / took


def main() -> None:
    """Measure one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="that a trial sleeps")
    parser.add_argument("--per-worker", type=int, default=8, help="trials for each worker")
    options = parser.parse_args()
    ray.init(address="local", num_cpus=max(WORKERS), include_dashboard=False)
    cluster.connect(None)
    found = {n: efficiency(n, options.per_worker, options.seconds) for n in WORKERS}
    for n, value in found.items():
        print(f"{n} workers: {value:.3f}")
    print(json.dumps({f"efficiency_{n}": round(value, 3) for n, value in found.items()}))


if __name__ == "__main__":
    main()
