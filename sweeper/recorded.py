"""A sweep as Python sees it: the records of its ledger, ranked, and as a table."""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sweeper.config.sweep import Sweep
from sweeper.errors import SweepError
from sweeper.ledger import open_ledger
from sweeper.results.facts import Facts
from sweeper.results.records import TrialRecord
from sweeper.results.tested import OrderTested, Tested, mean_matrix

if TYPE_CHECKING:
    from pandas import DataFrame


class RecordedSweep:
    """What is known of a sweep when it is opened.

    Args:
        folder: of its files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ledger = open_ledger(folder)

    def __repr__(self) -> str:
        finished, all_of_them = len(self.facts.ranked), len(self.facts.trials)
        return f"<sweep {self.sweep.name}: {finished} of {all_of_them} trials finished>"

    @property
    def sweep(self) -> Sweep:
        """What was asked for."""
        return self.facts.sweep

    @cached_property
    def facts(self) -> Facts:
        """The facts that a report is made of."""
        return self._ledger.facts()

    @property
    def best(self) -> TrialRecord | None:
        """The best trial on validation data; None as long as none has finished."""
        return self.facts.best

    @property
    def tests(self) -> tuple[Tested, ...]:
        """The chosen configurations on the test sets, the best on validation data first."""
        return self.facts.tests

    @property
    def order_tests(self) -> tuple[OrderTested, ...]:
        """The same on class orders that the search has not seen."""
        return self.facts.order_tests

    def R(self, trial: int) -> npt.NDArray[np.float64]:
        """The accuracy matrix of a finished trial, mean over its seeds, NaN above the diagonal.

        Raises:
            SweepError: there is no such trial, or it has not finished.
        """
        for record in self.facts.ranked:
            if record.number == trial:
                return np.array(mean_matrix(record.R), dtype=float)
        raise SweepError(f"{self.folder}: trial {trial} must have finished, but has not.")

    def trials(self) -> "DataFrame":
        """One row per trial: number, state, sampled values, metrics, seconds, reason."""
        from pandas import DataFrame

        rows = [
            {
                "number": trial.number,
                "state": trial.state,
                **trial.values,
                **trial.metrics,
                "seconds": trial.seconds,
                "reason": trial.reason,
            }
            for trial in self.facts.trials
        ]
        return DataFrame(rows)
