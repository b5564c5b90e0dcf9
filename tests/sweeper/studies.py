"""The service without `mpnet`: any function as the trial, on the real ledger and the real Tune."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ray import tune

from sweeper import cluster, tuner
from sweeper.ledger import Ledger, search_of
from sweeper.records import State, TrialRecord
from sweeper.space import Values
from sweeper.sweep import parse_sweep


class Nobody:
    """Listens to nothing."""

    def started(self, number: int, values: Values) -> None:
        """Nothing."""

    def reported(self, number: int, metrics: Mapping[str, Any]) -> None:
        """Nothing."""

    def ended(self, number: int, state: State) -> None:
        """Nothing."""


def report_outcome(x: float, **metrics: float) -> None:
    """What a trial tells at its end."""
    metrics = {"acc": x, "bwt": 0.0, **metrics}
    outcome = {"metrics": metrics, "seeds": [0], "R": [[[0.5]]], "curves": [[]], "seconds": 0.0}
    tune.report({**metrics, "score": 0.0, "step": 1, "outcome": json.dumps(outcome)})


def run_trials(
    trainable: tuner.Trainable, n_trials: int, share: cluster.Share, folder: Path
) -> tuple[float, list[TrialRecord]]:
    """The seconds that a search took, and its finished trials; Ray must run."""
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
    tuner.build_tuner(study, trainable, share, sweep.settings, trials, Nobody()).fit()
    seconds = time.perf_counter() - start
    finished = [record for record in ledger.records() if record.state == "finished"]
    assert len(finished) == n_trials
    return seconds, finished
