"""Small runs on scikit-learn's digits, shared by the suites."""

from mpnet.contract import small_run as digits_run
from mpnet.contract import train_task, trained

__all__ = ["digits_run", "train_task", "trained"]
