"""A sweep: what runs, over which space, how, and what is rerun on the test sets."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpnet.reading import dump_yaml, shown, with_plugins
from mpnet.registry import did_you_mean
from sweeper.config.groups import deciding_part, groups_of
from sweeper.config.reading import BLOCKS, override, read_blocks
from sweeper.config.sampling import ChosenSampler, chosen_sampler
from sweeper.config.settings import (
    DEFAULT_TRIALS,
    Metric,
    Notify,
    SelectSettings,
    SweepSettings,
    bind_block,
)
from sweeper.config.space import SearchSpace, path_fault
from sweeper.config.space_reading import parse_space
from sweeper.errors import SweepError

_MOST_GROUPS = 10_000
_NOT_SEARCHED = {
    "split": "a search may see validation data only",
    "seed": "seeds are not searched over; repeat trials with sweep.repeats",
    "device": "trials run on what sweep.resources gives them",
    "benchmark.class_order": "class orders are not searched over, since the easiest would win; "
    "judge the best on others with select.class_orders",
}


@dataclass(frozen=True)
class Sweep:
    """A file: `run` (fixed), `space`, `sweep`, `select`, and its text for comparison.

    Args:
        faults: all that is wrong with the file; the rest of it is here, to be looked at as well.
    """

    name: str
    run: Mapping[str, Any]
    space: SearchSpace
    settings: SweepSettings
    select: SelectSettings
    blocks: Mapping[str, Any]
    faults: tuple[str, ...] = ()

    @property
    def objective(self) -> tuple[Metric, ...]:
        """The metrics sought."""
        return _as_metrics(self.settings.objective)

    @property
    def select_objective(self) -> tuple[Metric, ...]:
        """The metrics by which the best are chosen."""
        return _as_metrics(self.select.objective or self.settings.objective)

    @property
    def sampler(self) -> ChosenSampler:
        """The sampler that searches, whatever the file leaves open."""
        return chosen_sampler(self.settings, self.space)

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
        return self._most_chosen * (self.select.seeds + self.select.class_orders)

    @property
    def n_order_reruns(self) -> int:
        """How many of the reruns will be on unseen class orders."""
        return self._most_chosen * self.select.class_orders

    @property
    def _most_chosen(self) -> int:
        n_groups = len(groups_of(self.space, self.select.each))
        return min(n_groups * self.select.top, self.n_trials)

    @property
    def text(self) -> str:
        """The file with its overrides, in a form of its own."""
        return dump_yaml(dict(self.blocks))


def load_sweep(path: Path, overrides: Sequence[str] = ()) -> Sweep:
    """Read a YAML file, apply dotted `key=value` overrides, check all that needs no `mpnet`.

    Raises:
        SweepError: with one line per fault.
    """
    return checked(read_sweep(path, overrides))


def parse_sweep(blocks: Mapping[str, Any], name: str) -> Sweep:
    """Bind the blocks of a file.

    Raises:
        SweepError: with one line per fault.
    """
    return checked(bound_sweep(blocks, name, "sweep"))


def checked(sweep: Sweep) -> Sweep:
    """A sweep that has no faults.

    Raises:
        SweepError: with one line per fault.
    """
    if sweep.faults:
        raise SweepError("\n".join(sweep.faults))
    return sweep


def read_sweep(path: Path, overrides: Sequence[str] = ()) -> Sweep:
    """The sweep of a file with overrides, and all that is wrong with both.

    Raises:
        SweepError: the file cannot be read at all.
    """
    return overridden_sweep(read_blocks(path), overrides, path.stem, path.name)


def overridden_sweep(
    blocks: dict[str, Any], overrides: Sequence[str], name: str, where: str
) -> Sweep:
    """The sweep of some blocks with overrides, and all that is wrong with both."""
    faults = [fault for text in overrides if (fault := override(blocks, text))]
    return bound_sweep(blocks, name, where, faults)


def bound_sweep(
    blocks: Mapping[str, Any], name: str, where: str, faults: Sequence[str] = ()
) -> Sweep:
    """The sweep of some blocks, and all that is wrong with them."""
    found = list(faults)
    for key in blocks:
        if key not in (*BLOCKS, "plugins"):
            found.append(f"{where}: no block '{key}'; {did_you_mean(str(key), BLOCKS)}")
    run = blocks.get("run")
    if not isinstance(run, Mapping):
        found.append(f"{where}: a block `run` must be there, with keys and values below it.")
        run = {}
    run = with_plugins(blocks, run)
    if run.get("split", "validation") != "validation":
        got = shown(run["split"])
        found.append(f"{where}: run.split: a search may see validation data only; got {got}.")
    raw_space = blocks.get("space")
    space = parse_space({} if raw_space is None else raw_space, f"{where}: space", found)
    for path in list(space):
        if fault := _NOT_SEARCHED.get(path) or path_fault(run, path):
            found.append(f"{where}: space.{path}: {fault}.")
            del space[path]
    settings = bind_block(SweepSettings, blocks.get("sweep"), f"{where}: sweep", found)
    select = bind_block(SelectSettings, blocks.get("select"), f"{where}: select", found)
    _check_together(space, settings, where, found)
    _check_bound(settings, select, where, found)
    if select.class_orders and "class_order" in select.reseed:
        found.append(
            f"{where}: select.reseed: class orders must not follow the seeds where "
            f"select.class_orders asks for {select.class_orders} of their own; remove one of them."
        )
    if settings.notify:
        found += [f"{where}: sweep.notify{fault}" for fault in _notify_faults(settings.notify)]
    _check_each(space, raw_space, select.each, f"{where}: select.each", found)
    return Sweep(name, run, space, settings, select, blocks, tuple(found))


def difference(old: Sweep, new: Sweep) -> str:
    """What changed from one text to another, or nothing if it only extends the budget."""
    if _without_budget(old) == _without_budget(new) and new.n_trials >= old.n_trials:
        return ""
    lines = difflib.unified_diff(
        old.text.splitlines(), new.text.splitlines(), "as started", "now", lineterm="", n=1
    )
    return "\n".join(lines)


_FREE = (  # none of them changes what a trial comes to
    *("trials", "hours", "patience", "concurrency", "resources", "retries", "silent_minutes"),
    *("share_tasks", "keep_tasks", "keep_runs", "notify"),
)


def _without_budget(sweep: Sweep) -> dict[str, Any]:
    """What must stay the same: the number of reruns and the length of the sweep may change."""
    settings = {**(sweep.blocks.get("sweep") or {})}
    kept = {key: value for key, value in settings.items() if key not in _FREE}
    space, reseed = sweep.blocks.get("space"), sweep.select.reseed
    return {"run": sweep.run, "space": space, "sweep": kept, "reseed": reseed}


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


def _check_bound(
    settings: SweepSettings, select: SelectSettings, where: str, faults: list[str]
) -> None:
    """A bound is one on ACC: what is sought by another metric could be stopped and be the best."""
    objectives = {"sweep": settings.objective, "select": select.objective or settings.objective}
    for block, objective in objectives.items():
        if settings.scheduler == "bound" and _as_metrics(objective) != ("acc",):
            got = " and ".join(_as_metrics(objective))
            faults.append(
                f"{where}: sweep.scheduler: bound needs {block}.objective to be acc, but got "
                f"{got}; use another scheduler, or none."
            )


def _notify_faults(notify: Notify) -> Iterator[str]:
    """What must hold of it wherever it runs; values are not shown, since they may be secrets."""
    if not (notify.command or notify.url):
        yield ": must have a command or a url."
    if notify.url and not re.match(r"https?://|\$\{", notify.url):
        yield ".url: must begin with http:// or https://."
    if notify.url and re.search(r"//[^/]*@", notify.url):
        yield ".url: must come without user and password; send a header with ${NAME} instead."
    for name, value in notify.headers.items():
        if re.search("auth|cookie|key|password|secret|token", name, re.I) and "${" not in value:
            yield f".headers.{name}: must come from the environment, such as ${{MY_TOKEN}}."


def _check_each(
    space: SearchSpace, raw_space: Any, each: Sequence[str], where: str, faults: list[str]
) -> None:
    for path in dict.fromkeys(each):
        if path in space and space[path].kind not in ("grid", "choice"):
            kind = space[path].kind
            faults.append(f"{where}: {path}: must be a grid or a choice, but is {kind}.")
        elif path not in (raw_space if isinstance(raw_space, Mapping) else space):
            hint = did_you_mean(path, space) if space else "there is no path in it."
            faults.append(f"{where}: {path}: must be a path of the space; {hint}")
        if each.count(path) > 1:
            faults.append(f"{where}: {path}: must stand there once.")
    n_points = 0 if faults else deciding_part(space, each).size or 0
    if n_points > _MOST_GROUPS:
        must = f"{where}: must lead to at most {_MOST_GROUPS:,} combinations of values"
        faults.append(f"{must}, but got {n_points:,}; name fewer paths, or paths of fewer values.")


def _as_metrics(objective: str | tuple[Metric, ...]) -> tuple[Metric, ...]:
    return (objective,) if isinstance(objective, str) else objective  # type: ignore[return-value]
