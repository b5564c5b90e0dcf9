"""What is known of a trial or of a rerun: the values that the ledger gives and all others take."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

Split = Literal["validation", "test"]
StageName = Literal["search", "test"]
State = Literal["running", "finished", "stopped", "failed"]
FINAL_STATES: tuple[State, ...] = ("finished", "stopped", "failed")
Matrix = list[list[float | None]]  # R[t][i]; None above the diagonal
Origin = dict[str, Any]  # of a first task: its name, is_taken, the seconds that training it took
Selectivity = dict[str, Any]  # after a task: held, free, selectivity, quantiles, a warning or None


@dataclass(frozen=True, kw_only=True)
class Record:
    """What came of a configuration, whatever it was judged on.

    Args:
        number: the place in the ledger.
        key: a short name, by which checkpoints and MLflow runs are found.
        state: "finished" all tasks of all seeds, "stopped" by a scheduler, "failed" for good, or
            "running", which is also what a driver that died leaves behind.
        run: as it was resolved, every default filled in; the seed is the first one.
        metrics: of a finished one, means over its seeds: acc, bwt, bwt_gem, forgetting, ...
        seeds: one per repeat.
        R: one accuracy matrix per seed.
        data_sets: of each task, where tasks are of several ones; else empty.
        curves: one per seed: [step, loss, validation accuracy], step counting epochs over tasks.
        selectivity: one list per seed, what is known after each task; empty where a method does
            not protect single weights, or did not say so yet.
        first_tasks: one per seed where they are shared: which, and whether it was trained here.
        versions: of the packages and the machine that it ran with.
        seconds: of training, all attempts together, without first tasks that were taken over.
        reason: why it failed or was stopped.
        shown: of a stopped one, the matrices of its seeds as far as they came.
    """

    stage: ClassVar[StageName]

    number: int
    key: str
    state: State
    run: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()
    R: tuple[Matrix, ...] = ()
    data_sets: tuple[str, ...] = ()
    curves: Sequence[list[list[float]]] = ()
    selectivity: tuple[list[Selectivity], ...] = ()
    first_tasks: tuple[Origin, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    reason: str | None = None
    shown: tuple[Matrix, ...] = ()

    @property
    def run_key(self) -> str:
        """What its MLflow run and its kept runs are found by."""
        return f"{self.stage}-{self.key}"

    @property
    def task_names(self) -> list[str]:
        """The numbers of the tasks of R, each with its data set if it has one."""
        n_tasks = len(self.R[0]) if self.R else 0
        sets = self.data_sets or [""] * n_tasks
        return [f"{i + 1} {sets[i]}".rstrip() for i in range(n_tasks)]

    @property
    def seconds_saved(self) -> float:
        """What its first tasks had taken where another trial trained them."""
        return float(sum(one["seconds"] for one in self.first_tasks if one["is_taken"]))

    @property
    def seconds_alone(self) -> float:
        """What it would have taken if it had shared nothing."""
        return self.seconds + self.seconds_saved


@dataclass(frozen=True, kw_only=True)
class TrialRecord(Record):
    """A configuration of a search, judged on validation data.

    Args:
        values: dotted path -> value, as sampled.
    """

    split: ClassVar[Split] = "validation"
    stage: ClassVar[StageName] = "search"
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Rerun:
    """A chosen configuration to be judged on the test sets.

    Args:
        configuration: the number of the search's trial.
        seed: one that the search has not used.
        class_order: one that the search has not seen; None for the one that it was tuned on.
    """

    configuration: int
    seed: int
    class_order: int | None = None

    @property
    def fields(self) -> dict[str, int]:
        """What tells it from others: two numbers on the tuned class order, three elsewhere."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        order = "" if self.class_order is None else f", class order {self.class_order}"
        return f"{self.configuration}, seed {self.seed}{order}"


@dataclass(frozen=True, kw_only=True)
class RerunRecord(Record):
    """What came of a rerun on the test sets."""

    split: ClassVar[Split] = "test"
    stage: ClassVar[StageName] = "test"
    rerun: Rerun
