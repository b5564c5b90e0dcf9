"""A sweep bound to `mpnet` before it starts: does it fit, are the data there, what is its cost?"""

import os
from collections.abc import Iterator, Sequence

from mpnet.config import RunConfig, parse_run
from mpnet.cost import expected_seconds
from mpnet.errors import ConfigError, DataMissing
from mpnet.machine import count_gpus
from sweeper.errors import SweepError
from sweeper.space import with_values
from sweeper.sweep import Sweep


def check(sweep: Sweep) -> list[RunConfig]:
    """Bind every kind of point to `mpnet` and look for the data; gives runs that stand for all.

    Raises:
        SweepError: with one line per fault.
    """
    faults = dict.fromkeys(_hidden_paths(sweep))
    configurations = []
    for values in sweep.space.corners():
        try:
            configurations.append(parse_run(with_values(sweep.run, values), f"{sweep.name}: run"))
        except ConfigError as error:
            faults |= dict.fromkeys(str(error).splitlines())
    if not faults:
        faults |= dict.fromkeys(data_faults(configurations))
    if faults:
        raise SweepError("\n".join(faults))
    return configurations


def _hidden_paths(sweep: Sweep) -> Iterator[str]:
    """Paths into the training whose short form stands in the run, and would win."""
    for path in sweep.space:
        parent, _, name = path.partition(".")
        if parent == "training" and name in sweep.run:
            where = f"{sweep.name}: space.{path}"
            yield f"{where}: run.{name} must not stand beside it, since it would win; remove it."


def data_faults(configurations: Sequence[RunConfig]) -> Iterator[str]:
    """Of every benchmark once: it is read as a trial will read it, so that the cache is warm."""
    for configuration in {_benchmark(c): c for c in configurations}.values():
        try:
            _n_tasks(configuration)
        except (ConfigError, DataMissing) as error:
            yield str(error)


def _benchmark(configuration: RunConfig) -> str:
    return configuration.model_dump_json(include={"benchmark", "data_root"})


def _n_tasks(configuration: RunConfig) -> int:
    """Reads the data of a benchmark, once in a process."""
    key = _benchmark(configuration)
    if key not in _N_TASKS:
        _N_TASKS[key] = len(configuration.build_stream())
    return _N_TASKS[key]


_N_TASKS: dict[str, int] = {}  # by benchmark


def n_cpus() -> int:
    """Of this machine, as far as this process may use them."""
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def n_gpus() -> int:
    """Of this machine."""
    return count_gpus()


def n_steps(configuration: RunConfig) -> int:
    """Epochs over all tasks."""
    return configuration.training.epochs * _n_tasks(configuration)


def expected_cost(configuration: RunConfig, n_threads: int, spend: float) -> float:
    """Seconds of a run, from a few steps of it that take `spend` seconds or a little more."""
    return expected_seconds(configuration, n_threads, spend)
