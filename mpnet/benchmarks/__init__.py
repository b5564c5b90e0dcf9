"""Benchmarks: sequences of tasks."""

from mpnet.benchmarks._base import BENCHMARKS, EvaluationSplit, Examples, Split, Task, TaskStream
from mpnet.benchmarks._preparation import Preparation
from mpnet.benchmarks._source import Source
from mpnet.registry import import_members

__all__ = [
    "BENCHMARKS",
    "EvaluationSplit",
    "Examples",
    "Preparation",
    "Source",
    "Split",
    "Task",
    "TaskStream",
]

import_members(__name__, __path__)
