"""Five tasks of two digits each from scikit-learn's built-in images: nothing to download."""

from mpnet.benchmarks._base import BENCHMARKS, TaskStream
from mpnet.benchmarks._source import Source


@BENCHMARKS.register("digits")
def digits(source: Source) -> TaskStream:
    """0-1, 2-3, 4-5, 6-7, 8-9; 20 % of the images are the test part."""
    base = source.base("digits")
    return TaskStream(base.class_tasks(5, base.preparation()))
