"""Trained runs, read back from the folders that `python -m mpnet` and sweeps leave."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpnet.benchmarks import EvaluationSplit, TaskStream
from mpnet.checkpoint import Checkpoints, State
from mpnet.config import RunConfig, parse_run
from mpnet.continual import identity_of
from mpnet.errors import CheckpointError, ConfigError, DataMissing
from mpnet.layers import Posterior
from mpnet.methods import METHODS, Method
from mpnet.networks import Network
from mpnet.results import CONFIG


@dataclass(frozen=True)
class TrainedRun:
    """A run after its last task.

    Args:
        folder: where it was found.
        config: what was run; its split is the one to judge on.
        stream: its tasks.
        method: as training left it.
        kept: what was written down after each task; None where nothing was.
    """

    folder: Path
    config: RunConfig
    stream: TaskStream
    method: Method
    kept: Sequence[State | None]

    @property
    def network(self) -> Network:
        """The network with the trained weights."""
        return self.method.network

    @property
    def name(self) -> str:
        """The name of the method."""
        return str(self.config.method["name"])

    @property
    def title(self) -> str:
        """The name of the method as people write it: MP-FT, BBB, PLAIN FT."""
        shown = self.name.upper().replace("_", " ")
        return f"MP-{shown}" if self.family == "moment" else shown

    @property
    def family(self) -> str:
        """The family of the layers."""
        return METHODS[self.name].family

    @property
    def posteriors(self) -> list[Posterior]:
        """The posteriors of all parameters; their tensors are the network's own."""
        return self.network.layers.posteriors(self.network)

    def layer_of(self, posterior: Posterior) -> str:
        """The name of a posterior's layer for people: layer 1, layer 2, ..., head."""
        part, *rest = posterior.path.split(".")
        if part == "heads":
            return "head" if len(self.stream) == 1 else f"head {int(rest[0]) + 1}"
        return {p.path: name for name, p in self.network.trunk_layers()}[posterior.path]


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone.

    Args:
        label: the method's title, with the folder's name where two groups have the same.
        place: how many groups of the same layer family come before it.
    """

    label: str
    place: int
    runs: tuple[TrainedRun, ...]

    @property
    def family(self) -> str:
        """The family of the layers."""
        return self.runs[0].family


def load_runs(folders: Iterable[Path], split: EvaluationSplit | None = None) -> list[TrainedRun]:
    """Read runs back, to be judged on `split` or on what they were judged on before.

    Raises:
        ConfigError: with one line for every folder that does not hold a finished run.
    """
    runs, faults = [], []
    for folder in folders:
        try:
            runs.append(_load(folder, split))
        except (ConfigError, CheckpointError, DataMissing) as error:
            faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(faults))
    return runs


def _load(folder: Path, split: EvaluationSplit | None) -> TrainedRun:
    config = _config(folder)
    stream = config.build_stream()
    checkpoints, identity = Checkpoints(folder), identity_of(config, stream)
    state = checkpoints.load(identity)
    if state is None or state["task"] < len(stream):
        done = "no checkpoint.pt" if state is None else f"{state['task']} of {len(stream)} tasks"
        raise ConfigError(
            f"{folder}: a finished run must be there, but got {done}; "
            "`python -m mpnet ... --resume` finishes it."
        )
    method = config.build_method(stream)
    method.load_state_dict(state["method"])
    kept = [checkpoints.kept(t, identity) for t in range(len(stream))]
    if split is not None and split != config.split:
        config = config.model_copy(update={"split": split})
        stream = config.build_stream()
    device = config.torch_device()
    return TrainedRun(folder, config, stream.to(device), method.to(device).eval(), kept)


def _config(folder: Path) -> RunConfig:
    """The configuration as it was resolved, but on whatever device there is here."""
    path = folder / CONFIG
    try:
        raw: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{path}: the configuration of a run must be there, but {type(error).__name__}; "
            "give a folder that `python -m mpnet` has made."
        ) from error
    return parse_run({**raw, "device": "auto"}, where=str(path))


def groups_of(runs: Sequence[TrainedRun]) -> list[Group]:
    """Runs with the same configuration but for the seed, in the order of their first."""
    found: dict[str, list[TrainedRun]] = {}
    for run in runs:
        same = run.config.model_copy(update={"seed": 0})
        found.setdefault(same.identity(), []).append(run)
    names = [members[0].name for members in found.values()]
    groups: list[Group] = []
    for members in found.values():
        first = members[0]
        is_clear = names.count(first.name) == 1
        label = first.title if is_clear else f"{first.title}, {first.folder.name}"
        place = sum(group.family == first.family for group in groups)
        groups.append(Group(label, place, tuple(members)))
    return groups


def about(runs: Sequence[TrainedRun]) -> str:
    """Data, network and seeds in a line, for titles."""
    first = runs[0]
    n_tasks, n_parameters = len(first.stream), sum(p.mean.numel() for p in first.posteriors)
    tasks = "1 task" if n_tasks == 1 else f"{n_tasks} tasks"
    sizes = "-".join(map(str, first.config.network.get("hidden", ())))
    network = f"{first.config.network['name']} {sizes}".strip()
    seeds = {run.config.seed for run in runs}
    n_seeds = f"seed {min(seeds)}" if len(seeds) == 1 else f"{len(seeds)} seeds"
    data = first.config.benchmark["name"]
    return f"{data}, {tasks}; {network}, {n_parameters:,} parameters; {n_seeds}"
