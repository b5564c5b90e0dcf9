"""A sweep: what runs, over which space, how, and what is rerun on the test sets."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from annotated_types import Ge, Gt, Lt
from pydantic import BaseModel, ConfigDict, ValidationError

from sweeper.errors import SweepError
from sweeper.groups import groups_of
from sweeper.reading import BLOCKS, dump_yaml, override, read_blocks
from sweeper.space import SearchSpace, Values, parse_space, path_fault

Metric = Literal["acc", "bwt"]
Sampler = Literal["grid", "random", "tpe", "cmaes", "nsga2"]
Amount = Annotated[float, Ge(0), Lt(inf)] | Literal["auto"]
DEFAULT_TRIALS = 64
_NOT_SEARCHED = {
    "split": "a search may see validation data only",
    "seed": "seeds are not searched over; repeat trials with sweep.repeats",
    "device": "trials run on what sweep.resources gives them",
}


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Kind = TypeVar("Kind", bound=_Block)


class Resources(_Block):
    """What a trial is given; fractions of a GPU are allowed."""

    cpu: Amount = "auto"
    gpu: Amount = "auto"


class SweepSettings(_Block):
    """How to search.

    Args:
        sampler: "grid" visits all points of a finite space.
        trials: how many configurations; by default the whole grid, else 64.
        hours: no longer than this from each start; what is running then can be resumed.
        patience: finished trials without a better one before the sweep ends.
        scheduler: that stops bad trials early; "none" lets every trial finish.
        objective: "acc", "bwt", or both for a Pareto front.
        seed: of the sampler.
        repeats: seeds per configuration; their mean is the objective.
        resources: per trial.
        concurrency: most trials at once.
        retries: of a trial that crashed (a diverging one would diverge again).
        checkpoint_epochs: a running trial is saved every so many epochs of a task,
        checkpoint_minutes: and after this much time.
        keep_runs: which finished runs leave their weights below the storage: those on the "test"
            sets, "all", or "none".
        storage: folder or URI for checkpoints that all nodes see; by default the output folder.
        tracking_uri: of MLflow; by default MLFLOW_TRACKING_URI, or a file in the output folder.
        first: points to try before the sampler's own.
        warm_start: folders of earlier sweeps whose trials the sampler is told.
    """

    sampler: Sampler = "tpe"
    trials: Annotated[int, Ge(1)] | None = None
    hours: Annotated[float, Gt(0)] | None = None
    patience: Annotated[int, Ge(1)] | None = None
    scheduler: Literal["none", "asha", "median"] = "none"
    objective: Metric | tuple[Metric, ...] = "acc"
    seed: Annotated[int, Ge(0)] = 0
    repeats: Annotated[int, Ge(1)] = 1
    resources: Resources = Resources()
    concurrency: Annotated[int, Ge(1)] | None = None
    retries: Annotated[int, Ge(0)] = 2
    checkpoint_epochs: Annotated[int, Ge(0)] = 10
    checkpoint_minutes: Annotated[float, Gt(0)] = 10.0
    keep_runs: Literal["none", "test", "all"] = "test"
    storage: str | None = None
    tracking_uri: str | None = None
    first: tuple[Values, ...] = ()
    warm_start: tuple[str, ...] = ()


class SelectSettings(_Block):
    """What is rerun on the test sets.

    Args:
        top: how many of the best configurations; 0 for none.
        seeds: runs of each, with seeds that the search has not used.
        objective: by default the sweep's.
        at_least: finished trials without which nothing is selected.
        each: paths of the space; the top of each combination of their values are rerun.
    """

    top: Annotated[int, Ge(0)] = 1
    seeds: Annotated[int, Ge(1)] = 3
    objective: Metric | tuple[Metric, ...] | None = None
    at_least: Annotated[int, Ge(1)] = 2
    each: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """A checked file: `run` (fixed), `space`, `sweep`, `select`, and its text for comparison."""

    name: str
    run: Mapping[str, Any]
    space: SearchSpace
    settings: SweepSettings
    select: SelectSettings
    blocks: Mapping[str, Any]

    @property
    def objective(self) -> tuple[Metric, ...]:
        """The metrics sought."""
        return _as_metrics(self.settings.objective)

    @property
    def select_objective(self) -> tuple[Metric, ...]:
        """The metrics by which the best are chosen."""
        return _as_metrics(self.select.objective or self.settings.objective)

    @property
    def n_trials(self) -> int:
        """How many configurations there will be; a finite space has no more than its points."""
        asked, size = self.settings.trials, self.space.size
        if size is None:
            return asked or DEFAULT_TRIALS
        return min(asked or (size if self.settings.sampler == "grid" else DEFAULT_TRIALS), size)

    @property
    def n_reruns(self) -> int:
        """How many reruns there will be at most; groups without a finished trial have none."""
        n_groups = len(groups_of(self.space, self.select.each))
        return min(n_groups * self.select.top, self.n_trials) * self.select.seeds

    @property
    def text(self) -> str:
        """The file with its overrides, in a form of its own."""
        return dump_yaml(dict(self.blocks))


def load_sweep(path: Path, overrides: Sequence[str] = ()) -> Sweep:
    """Read a YAML file, apply dotted `key=value` overrides, check all that needs no `mpnet`.

    Raises:
        SweepError: with one line per fault.
    """
    blocks = read_blocks(path)
    faults = [fault for text in overrides if (fault := override(blocks, text))]
    return parse_sweep(blocks, path.stem, path.name, faults)


def parse_sweep(
    blocks: Mapping[str, Any], name: str, where: str = "sweep", faults: Sequence[str] = ()
) -> Sweep:
    """Bind the blocks of a file."""
    found = list(faults)
    for key in blocks:
        if key not in BLOCKS:
            found.append(f"{where}: no block '{key}'; {_hint(str(key), BLOCKS)}")
    run = blocks.get("run")
    if not isinstance(run, Mapping):
        found.append(f"{where}: a block `run` must be there, with keys and values below it.")
        run = {}
    if run.get("split", "validation") != "validation":
        found.append(
            f"{where}: run.split: a search may see validation data only; got {run['split']!r}."
        )
    raw_space = blocks.get("space")
    space = parse_space({} if raw_space is None else raw_space, f"{where}: space", found)
    for path in space:
        if fault := _NOT_SEARCHED.get(path) or path_fault(run, path):
            found.append(f"{where}: space.{path}: {fault}.")
    settings = _bind(SweepSettings, blocks.get("sweep"), f"{where}: sweep", found)
    select = _bind(SelectSettings, blocks.get("select"), f"{where}: select", found)
    _check_together(space, settings, where, found)
    _check_each(space, raw_space, select.each, f"{where}: select.each", found)
    if found:
        raise SweepError("\n".join(found))
    return Sweep(name, run, space, settings, select, blocks)


def difference(old: Sweep, new: Sweep) -> str:
    """What changed from one text to another, or nothing if it only extends the budget."""
    if _without_budget(old) == _without_budget(new) and new.n_trials >= old.n_trials:
        return ""
    lines = difflib.unified_diff(
        old.text.splitlines(), new.text.splitlines(), "as started", "now", lineterm="", n=1
    )
    return "\n".join(lines)


def _without_budget(sweep: Sweep) -> dict[str, Any]:
    """What must stay the same: the test reruns and the length of the sweep may change."""
    settings = {**(sweep.blocks.get("sweep") or {})}
    free = ("trials", "hours", "patience", "concurrency", "resources", "retries", "keep_runs")
    kept = {key: value for key, value in settings.items() if key not in free}
    return {"run": sweep.run, "space": sweep.blocks.get("space"), "sweep": kept}


def _check_together(
    space: SearchSpace, settings: SweepSettings, where: str, faults: list[str]
) -> None:
    if settings.sampler == "grid" and space.size is None:
        ranges = [path for path, domain in space.items() if domain.points is None]
        faults.append(
            f"{where}: sweep.sampler: a grid needs points in every domain, but got a range for "
            f"{', '.join(ranges)}; use `grid: [...]` there or another sampler."
        )
    metrics = _as_metrics(settings.objective)
    if len(set(metrics)) < len(metrics) or not metrics:
        faults.append(f"{where}: sweep.objective: each metric must stand there once.")
    if settings.sampler == "cmaes" and len(metrics) > 1:
        faults.append(
            f"{where}: sweep.sampler: cmaes takes one objective, but got {len(metrics)}."
        )
    if settings.scheduler != "none" and len(metrics) > 1:
        faults.append(f"{where}: sweep.scheduler: must be none with more than one objective.")
    if settings.patience and len(metrics) > 1:
        faults.append(f"{where}: sweep.patience: must be left out with more than one objective.")
    for place, point in enumerate(settings.first):
        faults.extend(f"{where}: sweep.first[{place}].{fault}." for fault in space.faults(point))


def _check_each(
    space: SearchSpace, raw_space: Any, each: Sequence[str], where: str, faults: list[str]
) -> None:
    for path in dict.fromkeys(each):
        if path in space and space[path].kind not in ("grid", "choice"):
            kind = space[path].kind
            faults.append(f"{where}: {path}: must be a grid or a choice, but is {kind}.")
        elif path not in space and path not in (raw_space or ()):  # else it has been told
            hint = _hint(path, space) if space else "there is no path in it."
            faults.append(f"{where}: {path}: must be a path of the space; {hint}")
        if each.count(path) > 1:
            faults.append(f"{where}: {path}: must stand there once.")


def _bind(kind: type[Kind], raw: object, where: str, faults: list[str]) -> Kind:
    """The block; where something is wrong, the rest of it, so that the rest is checked too."""
    try:
        return kind.model_validate({} if raw is None else raw)
    except ValidationError as error:
        faults.extend(_explained(error, kind, where))
        wrong = {fault["loc"][0] for fault in error.errors() if fault["loc"]}
    good = {k: v for k, v in raw.items() if k not in wrong} if isinstance(raw, dict) else {}
    return kind.model_validate(good)


def _explained(error: ValidationError, kind: type[_Block], where: str) -> list[str]:
    lines: dict[str, str] = {}
    for fault in error.errors():
        place = fault["loc"]
        keys = place[:2] if place[:1] == ("resources",) else place[:1]  # then come kinds of types
        at = ".".join([where, *(key for key in keys if isinstance(key, str))])
        known = Resources.model_fields if len(keys) > 1 else kind.model_fields
        must = (fault["msg"][0].lower() + fault["msg"][1:]).replace("tuple", "list")
        if fault["type"] == "extra_forbidden":
            lines[at] = f"{at}: there is no key '{keys[-1]}'; {_hint(str(keys[-1]), known)}"
        elif fault["type"] == "model_type":
            lines[at] = f"{at}: must be a block of keys and values, but got {fault['input']!r}."
        else:
            lines.setdefault(at, f"{at}: {must}, but got {fault['input']!r}.")
    return list(lines.values())


def _hint(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean '{near[0]}'?" if near else f"there is {', '.join(known)}."


def _as_metrics(objective: str | tuple[Metric, ...]) -> tuple[Metric, ...]:
    return (objective,) if isinstance(objective, str) else objective  # type: ignore[return-value]
