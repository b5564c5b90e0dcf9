"""Benchmarks: sequences of tasks."""

from mpnet.benchmarks._base import BENCHMARKS, EvaluationSplit, Split, Task, TaskStream
from mpnet.benchmarks._preparation import Preparation
from mpnet.benchmarks._source import Source
from mpnet.registry import import_members

__all__ = [
    "BENCHMARKS",
    "EvaluationSplit",
    "Preparation",
    "Source",
    "Split",
    "Task",
    "TaskStream",
]

import_members(__name__, __path__)
