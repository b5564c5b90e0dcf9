"""Looks at trained runs: how certain the parameters are, and what that certainty is good for."""

from mpnet.analysis._base import ANALYSES, Analysis, Finding, flag
from mpnet.analysis._command import analyse
from mpnet.analysis._runs import TrainedRun, load_runs
from mpnet.registry import import_members

__all__ = ["ANALYSES", "Analysis", "Finding", "TrainedRun", "analyse", "flag", "load_runs"]

import_members(__name__, __path__)
