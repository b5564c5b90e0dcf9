"""What the sweep service costs: empty trials a minute against bare Ray Tune, and time to start.

Bare Tune has OptunaSearch in memory and reused actors; ours adds the ledger on disk. Both in one
process, in turn; prints a small table and one JSON line.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import optuna
import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from sweeper.driver import cluster
from tests.sweeper.reporting import report_outcome, x_of
from tests.sweeper.studies import run_trials


def bare_trial(config: dict[str, Any]) -> None:
    """Nothing but a report."""
    tune.report({"acc": config["x"]})


def our_trial(config: dict[str, Any]) -> None:
    """Nothing but an outcome."""
    report_outcome(x_of(config))


def bare_rate(n_trials: int, share: cluster.Share, folder: Path) -> float:
    """Trials a minute of Tune alone."""
    sampler = optuna.samplers.RandomSampler(seed=0)
    start = time.perf_counter()
    tune.Tuner(
        tune.with_resources(bare_trial, {"CPU": share.cpu}),
        param_space={"x": tune.uniform(0, 1)},
        tune_config=tune.TuneConfig(
            search_alg=OptunaSearch(metric="acc", mode="max", sampler=sampler),
            num_samples=n_trials,
            reuse_actors=True,
            max_concurrent_trials=share.at_once,
        ),
        run_config=tune.RunConfig(name="bare", storage_path=str(folder), verbose=0),
    ).fit()
    return 60 * n_trials / (time.perf_counter() - start)


def our_rate(n_trials: int, share: cluster.Share, folder: Path) -> float:
    """Trials a minute of the service."""
    seconds, _ = run_trials(our_trial, n_trials, share, folder)
    return 60 * n_trials / seconds


def main() -> None:
    """Measure in turn, print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    start = time.perf_counter()
    cluster.connect(None)
    init_seconds = time.perf_counter() - start
    share = cluster.Share(1, 0, int(ray.cluster_resources()["CPU"]))
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(options.rounds):
        for name, rate in (("bare", bare_rate), ("ours", our_rate)):
            with tempfile.TemporaryDirectory() as folder:
                rates[name].append(rate(options.trials, share, Path(folder)))
            print(f"{name:5s} {rates[name][-1]:7.0f} empty trials a minute")
    found = {name: statistics.median(values) for name, values in rates.items()}
    print(json.dumps({**found, "ratio": found["ours"] / found["bare"], "ray_init": init_seconds}))


if __name__ == "__main__":
    main()
