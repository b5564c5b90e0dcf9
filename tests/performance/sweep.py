"""What the sweep service costs: empty trials a minute against bare Ray Tune, and time to start.

Bare Tune has OptunaSearch in memory and reused actors; ours adds the ledger on disk. Both in one
process, in turn; prints a small table and one JSON line.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
import ray
from ray import tune
from ray.tune.search.optuna import OptunaSearch

from sweeper import tuner
from sweeper.ledger import Ledger, search_of
from sweeper.records import State
from sweeper.space import Values
from sweeper.sweep import parse_sweep


def bare_trial(config: dict[str, Any]) -> None:
    """Nothing but a report."""
    tune.report({"acc": config["x"]})


def our_trial(config: dict[str, Any]) -> None:
    """Nothing but an outcome."""
    metrics = {"acc": config["values"]["x"], "bwt": 0.0}
    outcome = {"metrics": metrics, "seeds": [0], "R": [[[0.5]]], "curves": [[]], "seconds": 0.0}
    tune.report({**metrics, "score": 0.0, "step": 1, "outcome": json.dumps(outcome)})


class Nobody:
    """Listens to nothing."""

    def started(self, number: int, values: Values) -> None:
        """Nothing."""

    def reported(self, number: int, metrics: Mapping[str, Any]) -> None:
        """Nothing."""

    def ended(self, number: int, state: State) -> None:
        """Nothing."""


def bare_rate(n_trials: int, share: tuner.Share, folder: Path) -> float:
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


def our_rate(n_trials: int, share: tuner.Share, folder: Path) -> float:
    """Trials a minute of the service."""
    blocks = {
        "run": {},
        "space": {"x": {"uniform": [0, 1]}},
        "sweep": {"trials": n_trials, "sampler": "random"},
    }
    sweep = parse_sweep(blocks, "empty")
    ledger = Ledger(folder)
    ledger.begin(sweep)
    study = ledger.open(search_of(sweep))
    start = time.perf_counter()
    trials = str(folder / "trials")
    tuner.build_tuner(study, our_trial, share, sweep.settings, trials, Nobody()).fit()
    seconds = time.perf_counter() - start
    assert len([record for record in ledger.records() if record.state == "finished"]) == n_trials
    return 60 * n_trials / seconds


def main() -> None:
    """Measure in turn, print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    start = time.perf_counter()
    tuner.connect(None)
    init_seconds = time.perf_counter() - start
    share = tuner.Share(1, 0, int(ray.cluster_resources()["CPU"]))
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
