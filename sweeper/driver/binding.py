"""Sweeps bound to `mpnet`: do they fit, are the data there, what does each run resolve to?"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mpnet.benchmarks import BENCHMARKS
from mpnet.config import RunConfig, options_of, parse_run
from mpnet.cost import Need, expected_seconds, least_memory, measured_need
from mpnet.datasets import data_root
from mpnet.errors import ConfigError, DataMissing
from mpnet.machine import count_gpus, free_device_memory, memory, name_of
from mpnet.training import TrainingSettings
from sweeper.config.reseeding import benchmark_seeds, undrawn
from sweeper.config.space import Values, with_values
from sweeper.config.sweep import Sweep
from sweeper.errors import SweepError
from sweeper.results.records import Rerun, TrialRecord

_MOST_NETWORKS = 200  # that are built, without their values, to see whether they can be


def check(sweep: Sweep) -> list[RunConfig]:
    """Bind every kind of point to `mpnet`; gives runs that stand for all.

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
    faults = {fault: None for fault in faults if not fault.startswith(_places_left_open(sweep))}
    if sweep.select.class_orders:
        faults |= dict.fromkeys(_order_faults(sweep))
    faults |= dict.fromkeys(_reseeding_faults(sweep))
    if faults:
        raise SweepError("\n".join(faults))
    return configurations


def _places_left_open(sweep: Sweep) -> tuple[str, ...]:
    """Where a run may lack something, since a path of the space is not a good one."""
    raw = sweep.blocks.get("space")
    unread = (
        [str(path) for path in raw if path not in sweep.space] if isinstance(raw, Mapping) else ()
    )
    return tuple(f"{sweep.name}: run.{path.removesuffix('.name')}" for path in unread)


def trial_run(sweep: Sweep, values: Values, device: str) -> dict[str, Any]:
    """The run of a trial as it will be: every default filled in, judged on validation data."""
    block = {**with_values(sweep.run, values), "split": "validation", "device": device}
    return parse_run(block, f"{sweep.name}: run").model_dump(mode="json")


def rerun_run(sweep: Sweep, chosen: TrialRecord, rerun: Rerun, device: str) -> dict[str, Any]:
    """The run of a chosen trial once more: on the test sets, with a seed of its own.

    So has what the sweep draws anew; on a class order of its own, too, if the rerun has one.
    """
    assert chosen.number == rerun.configuration
    order = {} if rerun.class_order is None else {"class_order": rerun.class_order}
    drawn = {**benchmark_seeds(sweep.select.reseed, rerun.seed), **order}
    again = {**chosen.run, "split": "test", "seed": rerun.seed, "device": device}
    return {**again, "benchmark": {**chosen.run["benchmark"], **drawn}} if drawn else again


def first_tasks(run: Mapping[str, Any], seeds: Sequence[int]) -> tuple[str, ...]:
    """What names the first task of each seed of a run; nothing where it is not shared."""
    configuration = parse_run(run)
    found = [configuration.model_copy(update={"seed": s}).first_task_identity() for s in seeds]
    return tuple(one for one in found if one is not None)


def first_tasks_of(sweep: Sweep, values: Values) -> tuple[str, ...]:
    """What names the first tasks of a trial; nothing where they are not shared."""
    run = with_values(sweep.run, values)
    seed = int(run.get("seed", 0))
    return first_tasks(run, range(seed, seed + sweep.settings.repeats))


def full_paths(paths: Iterable[str]) -> dict[str, str]:
    """Where each path leads in a run that is resolved: `epochs` is a setting of the training."""
    training = options_of(TrainingSettings)
    return {path: f"training.{path}" if path in training else path for path in paths}


def search_seeds(run: Mapping[str, Any], repeats: int) -> tuple[int, ...]:
    """The seeds of a trial: the run's own, and those that follow it."""
    return tuple(range(run["seed"], run["seed"] + repeats))


def _hidden_paths(sweep: Sweep) -> Iterator[str]:
    """Paths into the training whose short form stands in the run, and would win."""
    for path in sweep.space:
        parent, _, name = path.partition(".")
        if parent == "training" and name in sweep.run:
            where = f"{sweep.name}: space.{path}"
            yield f"{where}: run.{name} must not stand beside it, since it would win; remove it."


def _order_faults(sweep: Sweep) -> Iterator[str]:
    """The benchmarks that cannot be judged on other class orders."""
    for benchmark in _benchmarks(sweep):
        is_whole = benchmark.get("n_tasks") == 1
        if is_whole or "class_order" not in benchmark:
            known = [n for n in BENCHMARKS if "class_order" in options_of(BENCHMARKS[n])]
            which = f"'{benchmark['name']}'" + (" in one task" if is_whole else "")
            yield (
                f"{sweep.name}: select.class_orders: the benchmark must have class orders, but "
                f"{which} has none; use 0, or one of {', '.join(known)} in several tasks."
            )


def _reseeding_faults(sweep: Sweep) -> Iterator[str]:
    """What reruns should draw by their seed, and benchmarks do not draw."""
    for benchmark in _benchmarks(sweep):
        if missing := undrawn(sweep.select.reseed, benchmark):
            yield (
                f"{sweep.name}: select.reseed: the benchmark must draw it, but "
                f"'{benchmark['name']}' draws no {' and no '.join(missing)}; remove it."
            )


def _benchmarks(sweep: Sweep) -> Iterator[Mapping[str, Any]]:
    """The benchmark of every kind of point, whatever is wrong with the rest of its run."""
    for values in sweep.space.corners():
        block = with_values(sweep.run, values)
        try:
            yield parse_run({k: v for k, v in block.items() if k == "benchmark"}).benchmark
        except ConfigError:
            continue  # told with its run


def as_reruns(configurations: Sequence[RunConfig]) -> list[RunConfig]:
    """The same runs on the test sets."""
    return [configuration.model_copy(update={"split": "test"}) for configuration in configurations]


def data_faults(configurations: Sequence[RunConfig]) -> Iterator[str]:
    """What is wrong with the data of every benchmark, each read once, as a trial will read it."""
    for configuration in {_benchmark(c): c for c in configurations}.values():
        try:
            n_tasks(configuration)
        except (ConfigError, DataMissing) as error:
            yield str(error)


def network_faults(configurations: Sequence[RunConfig], where: str = "run") -> list[str]:
    """What is wrong with the networks of runs whose data are there: shapes, or their size."""
    faults, known = dict[str, None](), set[str]()
    for configuration in configurations:
        key = configuration.model_dump_json(include={"benchmark", "network", "layers", "method"})
        if key in known or len(known) > _MOST_NETWORKS:
            continue
        known.add(key)
        try:
            least, there = least_memory(configuration), memory()
        except ConfigError as error:
            faults |= dict.fromkeys(f"{where}.{line}" for line in str(error).splitlines())
            continue
        if least > there:
            faults[
                f"{where}.network: training it must fit into the memory of this machine, "
                f"{there / 1e9:,.0f} GB, but takes {least / 1e9:,.0f} GB for weights, gradients "
                "and Adam alone; make it smaller."
            ] = None
    return list(faults)


def node_faults(configurations: Sequence[RunConfig]) -> list[str]:
    """What another machine lacks of what these runs are made of: plug-ins first, then data."""
    faults = dict[str, None]()
    for configuration in configurations:
        try:
            parse_run(configuration.model_dump(mode="json"))
        except ConfigError as error:
            faults |= dict.fromkeys(str(error).splitlines())
    return list(faults or [*data_faults(configurations)] or network_faults(configurations))


def _benchmark(configuration: RunConfig) -> str:
    where = data_root(configuration.data_root)
    return f"{where} {configuration.model_dump_json(include={'benchmark', 'split'})}"


def n_tasks(configuration: RunConfig) -> int:
    """The tasks of a benchmark; its data are read, once in a process."""
    for known in (configuration, *as_reruns([configuration])):  # the tasks are the same
        if (key := _benchmark(known)) in _N_TASKS:
            return _N_TASKS[key]
    _N_TASKS[_benchmark(configuration)] = n = len(configuration.build_stream())
    return n


_N_TASKS: dict[str, int] = {}  # by benchmark


def n_cpus() -> int:
    """The CPUs of this machine, as far as this process may use them."""
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )


def n_gpus() -> int:
    """The GPUs of this machine."""
    return count_gpus()


def device_name(configuration: RunConfig) -> str:
    """The device that a run would have in this process, for a person."""
    return name_of(configuration.torch_device())


def gpu_need(configuration: RunConfig) -> Need | None:
    """What a run takes of a GPU of this machine, measured; None where there is none."""
    need = measured_need(configuration) if n_gpus() else None
    free_device_memory()  # trials need it
    return need


def n_steps(configuration: RunConfig) -> int:
    """Epochs over all tasks."""
    return configuration.training.epochs * n_tasks(configuration)


def expected_cost(configuration: RunConfig, n_threads: int, spend: float) -> float:
    """Seconds of a run, from a few steps of it that take `spend` seconds or a little more."""
    seconds = expected_seconds(configuration, n_threads, spend)
    free_device_memory()
    return seconds
