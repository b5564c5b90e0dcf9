"""Benchmarks: sequences of tasks."""

from mpnet.benchmarks._base import (
    BENCHMARKS,
    EvaluationSplit,
    Normalisation,
    Split,
    Task,
    TaskStream,
)
from mpnet.registry import import_members

__all__ = ["BENCHMARKS", "EvaluationSplit", "Normalisation", "Split", "Task", "TaskStream"]

import_members(__name__, __path__)
