"""How busy one queue keeps its workers: six sweeps of trials that only sleep.

    python -m tests.performance.queue --seconds 20

A worker is a logical CPU of a local Ray. Each sweep has 12 trials and then 3 reruns of its best,
whose lengths spread like real ones (log-normal, sigma 0.3). Efficiency is the ideal, all sleep
divided by the workers, over the time that it took; `one_after_another` runs the same sweeps in
turn, each as a queue of one. `without_overhead` is what a scheduler that costs nothing reaches
with the same lengths and in the same order: six sweeps of 12 trials are 2.25 waves on 32 workers,
and reruns wait for the last trial of their search, so the ideal itself is out of reach there.
Workers are started before the clock is. Prints a line each and one JSON line.
"""

import argparse
import functools
import heapq
import json
import math
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray

from sweeper.config.sweep import Sweep, parse_sweep
from sweeper.driver import cluster
from sweeper.driver.sweep_queue import _BALANCED_BELOW
from sweeper.execution.assignment import AnyAssignment
from tests.sweeper.studies import plain_sweep, report_outcome, run_sweeps

N_SWEEPS, N_TRIALS, N_RERUNS, SIGMA = 6, 12, 3, 0.3
WORKERS = (8, 32)


def seconds_of(sweep: int, stage: str, number: int, mean: float) -> float:
    """How long a trial or rerun sleeps: always the same, different for each."""
    draw = random.Random(f"{sweep} {stage} {number}").gauss(-(SIGMA**2) / 2, SIGMA)
    return mean * math.exp(draw)


def without_overhead(n_workers: int) -> float:
    """The efficiency of a queue whose every answer takes no time."""
    now, slept, n_free = 0.0, 0.0, n_workers
    running: list[tuple[float, int]] = []
    left = [[N_TRIALS, N_RERUNS] for _ in range(N_SWEEPS)]  # to be started, by stage
    at_work = [[0, 0] for _ in range(N_SWEEPS)]
    while True:
        while n_free:
            stages = [0 if left[i][0] or at_work[i][0] else 1 for i in range(N_SWEEPS)]
            ready = [i for i in range(N_SWEEPS) if left[i][stages[i]]]
            if not ready:
                break
            if sum(trials for trials, _ in left) <= _BALANCED_BELOW * n_workers:
                ready.sort(key=lambda i: (-stages[i], -left[i][0]))  # noqa: B023 - used at once
            sweep, stage = ready[0], stages[ready[0]]
            number = (N_TRIALS, N_RERUNS)[stage] - left[sweep][stage]
            seconds = seconds_of(sweep, ("search", "test")[stage], number, 1.0)
            heapq.heappush(running, (now + seconds, sweep))
            slept, n_free = slept + seconds, n_free - 1
            left[sweep][stage] -= 1
            at_work[sweep][stage] += 1
        if not running:
            return slept / n_workers / now
        now, sweep = heapq.heappop(running)
        at_work[sweep][0 if at_work[sweep][0] else 1] -= 1
        n_free += 1


def sleeping_trial(config: dict[str, Any], mean: float) -> None:
    """Busy without a CPU; says for how long."""
    told: AnyAssignment = config["assignment"]
    seconds = seconds_of(told.sweep, told.stage, told.number, mean)
    time.sleep(seconds)
    report_outcome(0.5, slept=seconds)


def sweeps() -> list[Sweep]:
    """Six of a kind; their sampler learns nothing, so that devices alone decide."""
    blocks = {
        "run": {},
        "space": {"x": {"uniform": [0, 1]}},
        "sweep": {"trials": N_TRIALS, "sampler": "random"},
        "select": {"top": 1, "seeds": N_RERUNS},
    }
    return [parse_sweep(blocks, f"sweep{place}") for place in range(N_SWEEPS)]


def efficiency(n_workers: int, mean: float, groups: Sequence[Sequence[int]]) -> float:
    """Of queues with these sweeps, one after the other."""
    share, chosen = cluster.Share(1, 0, n_workers), sweeps()
    took = slept = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            actives = []
            for place, number in enumerate(group):
                place_of = Path(folder) / chosen[number].name
                place_of.mkdir()
                actives.append(plain_sweep(chosen[number], place_of, share, place))
            took += run_sweeps(functools.partial(sleeping_trial, mean=mean), actives)
            records = [
                record
                for active in actives
                for record in (*active.ledger.trial_records(), *active.ledger.rerun_records())
            ]
            assert len(records) == len(group) * (N_TRIALS + N_RERUNS)
            slept += sum(record.metrics["slept"] for record in records)
    return slept / n_workers / took


def warm(n_workers: int) -> None:
    """Wait until all workers are there and have imported what a trial needs."""
    nap = ray.remote(num_cpus=1)(_nap)
    ray.get([nap.remote() for _ in range(n_workers)])


def _nap() -> None:
    import ray.tune  # noqa: F401

    time.sleep(10)


def main() -> None:
    """Measure one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="that a trial sleeps, mean")
    parser.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    options = parser.parse_args()
    found: dict[str, float] = {}
    for n in options.workers:
        ray.init(address="local", num_cpus=n, include_dashboard=False, log_to_driver=False)
        cluster.connect(None)
        warm(n)
        kinds = {
            "one_queue": [range(N_SWEEPS)],
            "one_after_another": [[i] for i in range(N_SWEEPS)],
        }
        for name, groups in kinds.items():
            found[f"{name}_{n}"] = round(efficiency(n, options.seconds, groups), 3)
            print(f"{n} workers, {name}: {found[f'{name}_{n}']:.3f}", flush=True)
        found[f"without_overhead_{n}"] = round(without_overhead(n), 3)
        print(f"{n} workers, without overhead: {found[f'without_overhead_{n}']:.3f}", flush=True)
        ray.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
