"""How busy one queue keeps its workers: six sweeps of trials that only sleep.

    python -m tests.performance.queue --seconds 60

A worker is a logical CPU of a local Ray. Each sweep has 12 trials, whose lengths spread like real
ones (log-normal, sigma 0.3), and then 3 reruns of its best, each as long as the trial was.
Efficiency is the ideal, all sleep divided by the workers, over the time that it took;
`one_after_another` runs the same sweeps in turn, each as a queue of one. `without_overhead` is
what a scheduler that costs nothing reaches with the same lengths and in the same order, and
`at_most` what no schedule can exceed, even one that knows all lengths beforehand: six sweeps of 12
trials are 2.25 waves on 32 workers, and reruns wait for the last trial of their search.
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
from sweeper.driver.sweep_queue import _NEAR_THE_END
from sweeper.execution.assignment import AnyAssignment
from tests.sweeper.reporting import report_outcome
from tests.sweeper.studies import plain_sweep, run_sweeps

N_SWEEPS, N_TRIALS, N_RERUNS, SIGMA = 6, 12, 3, 0.3
WORKERS = (8, 32)


def acc_of(sweep: int, number: int) -> float:
    """What a trial reaches; the best is rerun."""
    return random.Random(f"acc {sweep} {number}").random()


def seconds_of(sweep: int, number: int, mean: float = 1.0) -> float:
    """How long a trial sleeps, and a rerun of it: always the same, different for each."""
    draw = random.Random(f"{sweep} {number}").gauss(-(SIGMA**2) / 2, SIGMA)
    return mean * math.exp(draw)


def rerun_seconds(sweep: int) -> float:
    """How long a rerun of the best trial sleeps."""
    return seconds_of(sweep, max(range(N_TRIALS), key=lambda number: acc_of(sweep, number)))


def work() -> tuple[float, float]:
    """The lengths of all trials, and of all reruns, together."""
    trials = sum(seconds_of(i, number) for i in range(N_SWEEPS) for number in range(N_TRIALS))
    return trials, N_RERUNS * sum(map(rerun_seconds, range(N_SWEEPS)))


def without_overhead(n_workers: int) -> float:
    """The efficiency of a queue whose every answer takes no time."""
    now, n_free = 0.0, n_workers
    running: list[tuple[float, int, bool]] = []
    left = [[N_TRIALS, N_RERUNS] for _ in range(N_SWEEPS)]  # to be started: trials, reruns
    searching = [N_TRIALS] * N_SWEEPS  # trials that have not ended
    while True:
        while n_free and (place := _next(left, searching, n_workers)) is not None:
            is_rerun = not left[place][0]
            number = N_TRIALS - left[place][0]
            seconds = rerun_seconds(place) if is_rerun else seconds_of(place, number)
            heapq.heappush(running, (now + seconds, place, is_rerun))
            left[place][is_rerun] -= 1
            n_free -= 1
        if not running:
            return sum(work()) / n_workers / now
        now, place, was_rerun = heapq.heappop(running)
        searching[place] -= not was_rerun
        n_free += 1


def _next(left: list[list[int]], searching: list[int], n_workers: int) -> int | None:
    """The sweep that gives next, in the order of `SweepQueue`."""
    order = list(range(N_SWEEPS))
    if sum(trials for trials, _ in left) <= _NEAR_THE_END * n_workers:
        order.sort(key=lambda i: (not left[i][0], -rerun_seconds(i)))
    ready = [i for i in order if left[i][0] or (left[i][1] and not searching[i])]
    return ready[0] if ready else None


def at_most(n_workers: int) -> float:
    """A bound for all schedules: no rerun of the sweep that ends its search last comes before."""
    trials, reruns = work()
    shortest = min(map(rerun_seconds, range(N_SWEEPS)))
    ideal = (trials + reruns) / n_workers
    return ideal / max(ideal, trials / n_workers + shortest)


def sleeping_trial(config: dict[str, Any], mean: float, group: Sequence[int]) -> None:
    """Busy without a CPU; says for how long."""
    told: AnyAssignment = config["assignment"]
    number = told.rerun.configuration if told.stage == "test" else told.number
    sweep = group[told.sweep]
    seconds = seconds_of(sweep, number, mean)
    time.sleep(seconds)
    report_outcome(acc_of(sweep, number), seconds)


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
            trial = functools.partial(sleeping_trial, mean=mean, group=group)
            took += run_sweeps(trial, actives)
            records = [
                record
                for active in actives
                for record in (*active.ledger.trial_records(), *active.ledger.rerun_records())
            ]
            assert len(records) == len(group) * (N_TRIALS + N_RERUNS)
            slept += sum(record.seconds for record in records)
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
    parser.add_argument("--seconds", type=float, default=60.0, help="that a trial sleeps, mean")
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
        for bound in (without_overhead, at_most):
            found[f"{bound.__name__}_{n}"] = round(bound(n), 3)
            print(f"{n} workers, {bound.__name__}: {bound(n):.3f}", flush=True)
        ray.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
