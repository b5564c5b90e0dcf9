"""What a worker is told: one trial or one rerun, complete, so that it asks nobody."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from sweeper.config.space import Values
from sweeper.execution.storage import RUNS, below
from sweeper.results.records import Rerun, Split, StageName
from sweeper.tracking import Tracking


@dataclass(frozen=True)
class Surroundings:
    """What all trials of a sweep share.

    Args:
        storage: folder or URI below which trials save.
        first_tasks: folder or URI of the first tasks that trials share; None if they do not.
        tracking: MLflow, or None for no record.
        checkpoint_epochs: a trial saves every so many epochs of a task.
        checkpoint_minutes: a trial saves after this much time, whatever its epoch.
        keep_runs: the stages whose finished runs are kept below the storage.
        report_seconds: least time between reports of epochs; 0 where a scheduler needs them all.
        command: as it was typed.
        cpu: the number of CPUs that each trial is given.
        gpu: the number of GPUs that each trial is given; may be a fraction.
    """

    storage: str
    first_tasks: str | None = None
    tracking: Tracking | None = None
    checkpoint_epochs: int = 10
    checkpoint_minutes: float = 10.0
    keep_runs: tuple[StageName, ...] = ()
    report_seconds: float = 0.5
    command: str = ""
    cpu: float = 1.0
    gpu: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """A configuration to be run, whatever it is judged on.

    Args:
        sweep: the place of its sweep in the queue.
        number: in the ledger.
        key: by which its checkpoints and its MLflow run are found.
        attempt: 0 for the first.
        run: resolved, every default filled in.
        seeds: one run each.
        surroundings: of its sweep.
    """

    split: ClassVar[Split]
    stage: ClassVar[StageName]

    sweep: int
    number: int
    key: str
    attempt: int
    run: Mapping[str, Any]
    seeds: tuple[int, ...]
    surroundings: Surroundings

    def __deepcopy__(self, memo: object) -> Self:
        return self  # Tune copies it several times, and nobody changes it

    def resolved(self, seed: int) -> dict[str, Any]:
        """The run of one seed; the split follows from the kind of assignment and nothing else."""
        return {**self.run, "split": self.split, "seed": seed}

    @property
    def storage(self) -> str:
        """The folder or URI in which its stage saves."""
        return below(self.surroundings.storage, self.stage)

    @property
    def kept_below(self) -> str | None:
        """The folder or URI in which finished runs are kept; None if they are not."""
        is_kept = self.stage in self.surroundings.keep_runs
        return below(self.surroundings.storage, RUNS) if is_kept else None

    @property
    def folder(self) -> str:
        """The folder of this attempt, below the storage; nothing is ever written over."""
        return f"{self.key}-{self.number:06d}-{self.attempt:03d}"

    @property
    def run_key(self) -> str:
        """What its MLflow run and its kept runs are found by."""
        return f"{self.stage}-{self.key}"


@dataclass(frozen=True, kw_only=True)
class TrialAssignment(Assignment):
    """A trial of a search: it sees validation data only."""

    split: ClassVar[Split] = "validation"
    stage: ClassVar[StageName] = "search"

    values: Values

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"trial {self.number}"

    @property
    def trial(self) -> int:
        """The number of its configuration in the search."""
        return self.number


@dataclass(frozen=True, kw_only=True)
class RerunAssignment(Assignment):
    """A rerun of a chosen configuration on the test sets."""

    split: ClassVar[Split] = "test"
    stage: ClassVar[StageName] = "test"

    rerun: Rerun

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"rerun of trial {self.rerun}"

    @property
    def trial(self) -> int:
        """The number of its configuration in the search."""
        return self.rerun.configuration


AnyAssignment = TrialAssignment | RerunAssignment
