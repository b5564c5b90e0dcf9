"""How the benchmarks time: in turn, in one process, medians."""

import statistics
import time
from collections.abc import Callable

Step = Callable[[], object]


def interleaved_medians(steps: dict[str, Step], repeats: int) -> dict[str, float]:
    """Median seconds of each step, all run in turn so that noise hits them alike."""
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for i in range(repeats + 2):  # the first two rounds warm up
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if i >= 2:
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}
