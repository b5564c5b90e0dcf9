"""Benchmarks: sequences of tasks."""

from mpnet.benchmarks import digits
from mpnet.benchmarks._base import BENCHMARKS, EvaluationSplit, Split, Task, TaskStream

__all__ = ["BENCHMARKS", "EvaluationSplit", "Split", "Task", "TaskStream", "digits"]
