"""What MLflow is told of a trial: its settings, its way, its outcome."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mpnet.config import RunConfig
from mpnet.environment import environment
from mpnet.reading import dump_yaml
from mpnet.results import csv_of
from sweeper.execution.assignment import AnyAssignment, RerunAssignment
from sweeper.results.texts import short_names, short_value
from sweeper.tracking import ACC, Event, RunLog

_LONGEST_REASON = 400


@dataclass(frozen=True)
class Subject:
    """The trial or rerun that is recorded.

    Args:
        configuration: of its first seed.
        node: where it runs.
        resources: that it was given on its node.
        resumed_at: the step that it goes on from; 0 for a new one.
    """

    assignment: AnyAssignment
    configuration: RunConfig
    node: str
    resources: Mapping[str, float]
    resumed_at: int = 0


class Recorder:
    """The run of one trial; without tracking it does nothing."""

    def __init__(self, subject: Subject, pending: Sequence[Event] = ()) -> None:
        self._subject = subject
        is_tracked = subject.assignment.surroundings.tracking is not None
        self._log = _opened(subject, pending) if is_tracked else None
        self._tags: dict[str, str] = {}  # that are known only at the end

    @property
    def pending(self) -> list[Event]:
        """What MLflow has not got yet, to be saved with the trial."""
        return self._log.pending() if self._log else []

    def acc_so_far(self, value: float | None, step: int) -> None:
        """Log ACC of a trial as it stands at an epoch; the last value is what it came to."""
        if self._log is not None and self._subject.assignment.stage == "search":
            self._log.metrics({ACC: value}, step)

    def epoch(self, values: Mapping[str, float], step: int) -> None:
        """Log what an epoch came to."""
        self._metrics("epoch", values, step)

    def task(self, values: Mapping[str, float], step: int) -> None:
        """Log what is known after a task, or at the end."""
        self._metrics(
            "val" if self._subject.assignment.stage == "search" else "test", values, step
        )

    def outcome(self, outcome: Mapping[str, Any]) -> None:
        """Log what all seeds came to, with all that it takes to run them again."""
        n_tasks, seeds = len(outcome["R"][0]), outcome["seeds"]
        last = {**outcome["metrics"], "seconds": outcome["seconds"]}
        if shared := outcome.get("first_tasks"):
            last["seconds_saved"] = sum(one["seconds"] for one in shared if one["is_taken"])
            self._tags["sweeper.first_task"] = ", ".join(map(_origin_text, shared))
        # Means over seeds are newer than what the last seed came to.
        self.task(last, n_tasks * len(seeds) + (len(seeds) > 1))
        if self._log is not None:
            data_sets = outcome.get("data_sets", [])
            for path, content in self._files(seeds, outcome["R"], data_sets).items():
                self._log.artifact(path, content)

    def close(self, status: str, reason: str = "") -> None:
        """End the run: its trial is over, for the time being at least."""
        if self._log is not None:
            why = {"sweeper.reason": reason[:_LONGEST_REASON]} if reason else {}
            self._log.close(status, {**self._tags, **why})

    def _metrics(self, prefix: str, values: Mapping[str, float], step: int) -> None:
        if self._log is not None:
            self._log.metrics({f"{prefix}/{name}": value for name, value in values.items()}, step)

    def _files(
        self, seeds: Sequence[int], matrices: Sequence[Any], data_sets: Sequence[str]
    ) -> dict[str, str | bytes]:
        from mpnet.pictures import heat_map  # Matplotlib takes a second: not at the start

        configuration = self._subject.configuration
        block = {"run": configuration.model_dump(mode="json")}
        files: dict[str, str | bytes] = {
            "config.yaml": dump_yaml(block),
            "environment.json": json.dumps({**self._about(), "seeds": seeds}, indent=2),
        }
        for seed, R in zip(seeds, matrices, strict=True):
            name = f"R_seed{seed}" if len(seeds) > 1 else "R"
            title = f"{configuration.split} accuracy, seed {seed}"
            files |= {f"{name}.json": json.dumps(R), f"{name}.csv": csv_of(R, data_sets)}
            files[f"{name}.png"] = heat_map(R, title, data_sets)
        return files

    def _about(self) -> dict[str, Any]:
        subject = self._subject
        command = subject.assignment.surroundings.command
        return {**environment(), "command": command, "resources": dict(subject.resources)}


def _opened(subject: Subject, pending: Sequence[Event]) -> RunLog:
    assignment, configuration = subject.assignment, subject.configuration
    tracking = assignment.surroundings.tracking
    assert tracking is not None
    tags = {
        "sweeper.role": "trial" if assignment.stage == "search" else "test",
        "sweeper.stage": assignment.stage,
        "sweeper.trial": str(assignment.trial),
        "sweeper.node": subject.node,
        "method": configuration.method["name"],
        "benchmark": configuration.benchmark["name"],
    }
    if isinstance(assignment, RerunAssignment) and assignment.rerun.class_order is not None:
        tags["sweeper.unseen_class_order"] = str(assignment.rerun.class_order)
    if subject.resumed_at:
        tags["sweeper.resumed_at_step"] = str(subject.resumed_at)
    return RunLog(
        tracking,
        assignment.run_key,
        _run_name(assignment, configuration.method["name"]),
        configuration.model_dump(exclude={"data_root"}),
        tags,
        pending,
    )


def _origin_text(origin: Mapping[str, Any]) -> str:
    return f"{origin['name']} ({'taken over' if origin['is_taken'] else 'trained here'})"


def _run_name(assignment: AnyAssignment, method: str) -> str:
    """A run's name begins with the number by which terminal and report know its trial."""
    if isinstance(assignment, RerunAssignment):
        return f"test of {assignment.rerun}"
    others = {path: v for path, v in assignment.values.items() if path != "method.name"}
    names = short_names(others)
    parts = [f"{names[path]}={short_value(value)}" for path, value in others.items()]
    return " ".join([str(assignment.number), method, *parts])
