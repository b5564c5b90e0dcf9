"""How to search, and what is rerun on the test sets: the blocks `sweep` and `select` of a file."""

import os
from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from mpnet.reading import shown
from mpnet.registry import did_you_mean
from sweeper.config.reseeding import Drawn
from sweeper.config.space import Values

Metric = Literal["acc", "bwt"]
Event = Literal["end", "failure", "silence"]
Sampler = Literal["grid", "random", "tpe", "cmaes", "nsga2", "gp"]
Amount = Annotated[float, Ge(0)] | Literal["auto"]
Count = Annotated[int, Ge(1), Le(1_000_000)]
FewRuns = Annotated[int, Le(1_000)]  # of one configuration
Folder = Annotated[str, AfterValidator(os.path.expanduser)]
DEFAULT_TRIALS = 64


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


Kind = TypeVar("Kind", bound=_Block)


class Resources(_Block):
    """What a trial is given; fractions of a GPU are allowed."""

    cpu: Amount = "auto"
    gpu: Amount = "auto"


class Notify(_Block):
    """Who is told how a sweep goes, as JSON; each is told where both are there.

    Args:
        command: the words of a program, which is told on its standard input.
        url: of a webhook, which is told by POST; `${NAME}` is that variable of the environment.
        headers: of this request, with `${NAME}` likewise.
        events: of which it is told.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    headers: Mapping[str, str] = {}
    events: Annotated[tuple[Event, ...], MinLen(1)] = ("end", "failure", "silence")


class SweepSettings(_Block):
    """How to search.

    Args:
        sampler: "grid" visits all points of a finite space, "auto" is what suits space and trials.
        trials: how many configurations; by default the whole grid, else 64.
        hours: no longer than this from each start; what is running then can be resumed.
        patience: finished trials without a better one before the sweep ends.
        scheduler: that stops bad trials early; "none" lets every trial finish.
        slack: of the scheduler "bound": by how much, as a fraction, a task of a trial may still
            come out better than that of any other trial.
        objective: "acc", "bwt", or both for a Pareto front.
        seed: of the sampler.
        repeats: seeds per configuration; their mean is the objective.
        resources: per trial.
        concurrency: most trials at once.
        retries: of a trial that crashed (a diverging one would diverge again).
        silent_minutes: a trial that gives no sign of life for so long is ended, and tried again.
        checkpoint_epochs: a running trial is saved every so many epochs of a task.
        checkpoint_minutes: a running trial is saved after this much time, whatever its epoch.
        share_tasks: whether a first task that several trials have in common is trained once.
        keep_tasks: whether shared first tasks are kept when no sweep of the launch needs them.
        keep_runs: which finished runs leave their weights below the storage: those on the "test"
            sets, "all", or "none".
        storage: folder or URI for checkpoints that all nodes see; by default the output folder.
        tracking_uri: of MLflow; by default MLFLOW_TRACKING_URI, or a file in the output folder.
        notify: who is told of the end, of a failure, or that nothing moves; None for nobody.
        first: points to try before the sampler's own.
        warm_start: folders of earlier sweeps whose trials the sampler is told.
    """

    sampler: Literal[Sampler, "auto"] = "tpe"
    trials: Count | None = None
    hours: Annotated[float, Gt(0)] | None = None
    patience: Count | None = None
    scheduler: Literal["none", "asha", "median", "bound"] = "none"
    slack: Annotated[float, Ge(0), Le(1)] = 0.005
    objective: Metric | tuple[Metric, ...] = "acc"
    seed: Annotated[int, Ge(0), Lt(2**31)] = 0  # samplers count on from it, below 2**32
    repeats: Annotated[FewRuns, Ge(1)] = 1
    resources: Resources = Resources()
    concurrency: Count | None = None
    retries: Annotated[int, Ge(0)] = 2
    silent_minutes: Annotated[float, Gt(0)] = 120.0
    checkpoint_epochs: Annotated[int, Ge(0)] = 10
    checkpoint_minutes: Annotated[float, Gt(0)] = 10.0
    share_tasks: bool = True
    keep_tasks: bool = False
    keep_runs: Literal["none", "test", "all"] = "test"
    storage: Folder | None = None
    tracking_uri: str | None = None
    notify: Notify | None = None
    first: tuple[Values, ...] = ()
    warm_start: tuple[Folder, ...] = ()


class SelectSettings(_Block):
    """What is rerun on the test sets.

    Args:
        top: how many of the best configurations; 0 for none.
        seeds: runs of each, with seeds that the search has not used.
        objective: by default the sweep's.
        at_least: finished trials without which nothing is selected.
        each: paths of the space; the top of each combination of their values are rerun.
        class_orders: further runs of each, on class orders that the search has not seen.
        reseed: what of the benchmark these runs draw by their own seed; the search keeps its own.
    """

    top: Annotated[int, Ge(0)] = 1
    seeds: Annotated[FewRuns, Ge(1)] = 3
    objective: Metric | tuple[Metric, ...] | None = None
    at_least: Annotated[int, Ge(1)] = 2
    each: tuple[str, ...] = ()
    class_orders: Annotated[FewRuns, Ge(0)] = 0
    reseed: tuple[Drawn, ...] = ()


_INNER: Mapping[str, type[_Block]] = {"resources": Resources, "notify": Notify}


def bind_block(kind: type[Kind], raw: object, where: str, faults: list[str]) -> Kind:
    """The block; where something is wrong, the rest of it, so that the rest is checked too."""
    try:
        return kind.model_validate({} if raw is None else raw)
    except ValidationError as error:
        faults.extend(_explained(error, kind, where))
        wrong = {fault["loc"][0] for fault in error.errors() if fault["loc"]}
    if not wrong or not isinstance(raw, dict):  # the whole block is no good
        return kind()
    return kind.model_validate({k: v for k, v in raw.items() if k not in wrong})


def _explained(error: ValidationError, kind: type[_Block], where: str) -> list[str]:
    lines: dict[str, str] = {}
    for fault in error.errors():
        place = fault["loc"]
        inner = _INNER.get(str(place[0])) if place else None
        keys = place[: 2 if inner else 1]  # then come kinds of types
        at = ".".join([where, *(key for key in keys if isinstance(key, str))])
        known = (inner if inner and len(keys) > 1 else kind).model_fields
        must = (fault["msg"][0].lower() + fault["msg"][1:]).replace("tuple", "list")
        if fault["type"] == "extra_forbidden":
            lines[at] = f"{at}: there is no key '{keys[-1]}'; {did_you_mean(str(keys[-1]), known)}"
        elif fault["type"] == "model_type":
            got = shown(fault["input"])
            lines[at] = f"{at}: must be a block of keys and values, but got {got}."
        else:
            lines.setdefault(at, f"{at}: {must}, but got {shown(fault['input'])}.")
    return list(lines.values())
