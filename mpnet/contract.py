"""What every method must do, checked on small runs: faults in words, none if all is well.

The test suite asks for every registered method, `python -m mpnet.check` for one's own.
"""

import typing
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from mpnet.benchmarks import TaskStream
from mpnet.checkpoint import Checkpoints
from mpnet.config import RunConfig, parse_run
from mpnet.continual import Results, run
from mpnet.first_tasks import FirstTasks
from mpnet.layers.moment import shared_variances
from mpnet.methods import METHODS, Method
from mpnet.training import EpochReport, TaskTrainer, TrainingSettings

NORMED = {"name": "mlp", "hidden": [16], "batch_norm": True, "dropout": 0.2}
_NO_STATE = {*vars(nn.Module()), "network"}  # PyTorch's own, and what is a module itself


def small_run(name: str = "ft", /, **changes: Any) -> RunConfig:
    """Two epochs of a tiny network on the digits: about a second."""
    blocks: dict[str, Any] = {
        "network": {"name": "mlp", "hidden": [16]},
        "method": {"name": name},
        "training": {"epochs": 2, "batch_size": 100, "warmup_steps": 2, "learning_rate": 0.01},
        "device": "cpu",
    }
    return parse_run({**blocks, **changes})


def train_task(
    method: Method,
    stream: TaskStream,
    t: int,
    settings: TrainingSettings,
    generator: torch.Generator,
) -> list[EpochReport]:
    """Train one task from start to end and give what was reported."""
    trainer = TaskTrainer(method, stream, t, settings)
    reports = []
    while not trainer.is_finished:
        reports.append(trainer.train_epoch(generator))
    trainer.finish()
    return reports


def trained(config: RunConfig, n_tasks: int) -> Method:
    """The method of a run after its first tasks."""
    torch.manual_seed(config.seed)
    stream = config.build_stream()
    method = config.build_method(stream)
    generator = torch.Generator().manual_seed(0)
    for t in range(n_tasks):
        train_task(method, stream, t, config.training, generator)
    return method


def accuracy_faults(config: RunConfig) -> list[str]:
    """R is finite on and below the diagonal, and NaN above."""
    R = run(config).R
    below = np.tril(np.ones_like(R, dtype=bool))
    if np.isfinite(R[below]).all() and ((R[below] >= 0) & (R[below] <= 1)).all():
        return [] if np.isnan(R[~below]).all() else ["R must be NaN above the diagonal"]
    return [f"R must lie in 0 ... 1 on and below the diagonal, but is {R.tolist()}"]


def seed_faults(config: RunConfig) -> list[str]:
    """The same seed gives the same results."""
    if _are_equal(run(config), run(config)):
        return []
    return ["the same seed must give the same result twice; draw from torch's generator only"]


def head_faults(config: RunConfig, heads: Sequence[int] = (0, 1, 2)) -> list[str]:
    """Heads move exactly when their data are trained on."""
    before, after = trained(config, 1), trained(config, 2)
    found = []
    for head in heads:
        networks = (before.network, after.network)
        pairs = zip(*(network.head_parameters(head) for network in networks), strict=True)
        has_moved = not all(torch.equal(a, b) for a, b in pairs)
        if has_moved != (head in after.training_tasks(1)):
            must = "rest" if has_moved else "learn"
            found.append(f"the head of task {head + 1} must {must} while task 2 is trained")
    return found


def penalty_faults(config: RunConfig, t: int, closed: bool = True) -> list[str]:
    """The penalty's gradient in a training step is that of autograd, in closed form or not."""
    method = trained(config, t)
    method.begin_task(t)
    parameters = method.trained_parameters(t)
    with torch.no_grad():  # away from where the task has started, where many gradients are 0
        vector_to_parameters(1.01 * parameters_to_vector(parameters), parameters)
    _draw_and_backward(method, t)
    penalty = method.penalty(t)
    expected: Sequence[Tensor | None] = [None] * len(parameters)
    if penalty.requires_grad:
        expected = torch.autograd.grad(penalty, parameters, allow_unused=True)
    method.zero_grad()
    with shared_variances():  # as in a training step, after the backward pass of its loss
        _draw_and_backward(method, t)
        method.zero_grad()
        by_default = partial(Method.add_penalty_gradient, method)
        (method.add_penalty_gradient if closed else by_default)(t)
    pairs = zip(parameters, expected, strict=True)
    if all(_is_near(p.grad, wanted, p) for p, wanted in pairs):
        return []
    return [f"task {t + 1}: add_penalty_gradient must add the gradient of penalty, but does not"]


def _draw_and_backward(method: Method, t: int) -> None:
    """The likelihood's part of a training step, with the same draw wherever weights are drawn."""
    torch.manual_seed(0)
    method.train()
    output = method.network(torch.randn(2, 1, 8, 8), t)
    method.network.layers.nll(output, torch.tensor([0, 1])).backward()


def _is_near(got: Tensor | None, wanted: Tensor | None, parameter: Tensor) -> bool:
    a, b = (torch.zeros_like(parameter) if g is None else g for g in (got, wanted))
    rounding = 1e-12 + 2e-6 * float(b.abs().max())  # where summands of both signs cancel
    return torch.allclose(a, b, rtol=1e-4, atol=rounding)


class _Killed(Exception):
    """Stands for a kill -9 between two epochs."""


def resume_faults(config: RunConfig, n_epochs: int, folder: Path) -> list[str]:
    """Interrupted after some epochs and resumed equals uninterrupted, bit for bit."""
    whole, parts = (Checkpoints(folder / part, every_epochs=1) for part in ("whole", "parts"))
    expected = run(config, checkpoints=whole)
    left = n_epochs

    def stop(report: EpochReport) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise _Killed

    try:
        run(config, on_epoch_end=stop, checkpoints=parts)
    except _Killed:
        torch.rand(17)  # whatever the process did in the meantime
    why = f"differs in its weights or results after a stop in epoch {n_epochs}"
    try:
        got = run(config, checkpoints=parts)
        states = [torch.load(c.path, weights_only=True)["method"] for c in (whole, parts)]
        if _are_equal(got, expected) and differing(*states) == []:
            return []
    except Exception as error:  # whatever a method does without what it has forgotten
        why = f"raises {type(error).__name__}: {error}"
    words = f"is not in state_dict: a resumed run would be another run ({why})"
    if unsaved := unsaved_names(config):
        return [f"`{name}` {words}" for name in unsaved]
    return [f"a resumed run must be the run that it was, but {why}"]


def unsaved_names(config: RunConfig) -> list[str]:
    """What a method has changed in training and would not find again in a new process."""
    method = trained(config, 1)
    again = config.build_method(config.build_stream())
    try:
        again.load_state_dict(method.state_dict())
    except RuntimeError:  # it has more to say than we
        return []
    mine, others = (dict(_remembered(one)) for one in (method, again))
    return [name for name, value in mine.items() if not _is_same(value, others.get(name))]


def _remembered(method: nn.Module) -> Iterator[tuple[str, object]]:
    yield from ((key, value) for key, value in vars(method).items() if key not in _NO_STATE)
    kept = method.state_dict().keys()
    yield from ((name, value) for name, value in method.named_buffers() if name not in kept)


def _is_same(a: object, b: object) -> bool:
    """Whether two values are the same; of what cannot be compared, it is not known."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return torch.equal(a, b)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_same(a[key], b[key]) for key in a)
    plain = (Tensor, list, tuple, dict, int, float, str, set, type(None))
    return not (isinstance(a, plain) and isinstance(b, plain)) or (type(a) is type(b) and a == b)


def _are_equal(some: Results, others: Results) -> bool:
    same = (
        np.array_equal(m, others.matrices[n], equal_nan=True) for n, m in some.matrices.items()
    )
    return all(same) and some.selectivity == others.selectivity


def differing(some: dict[str, Any], others: dict[str, Any]) -> list[str]:
    """The names whose values are not the same, or that only one of them has."""
    names = [*some, *(key for key in others if key not in some)]
    return [
        n for n in names if n not in some or n not in others or not _is_same(some[n], others[n])
    ]


def final_state(
    config: RunConfig, folder: Path, first_tasks: FirstTasks | None = None
) -> dict[str, Any]:
    """What a run ends with: R, weights, what the method remembers, all random numbers."""
    checkpoints = Checkpoints(folder)
    R = run(config, checkpoints=checkpoints, first_tasks=first_tasks).R.copy()
    state = torch.load(checkpoints.path, weights_only=True)
    return {"R": torch.from_numpy(np.nan_to_num(R, nan=-1)), "rng": state["rng"]} | {
        "generator": state["generator"],
        **{f"method.{key}": value for key, value in state["method"].items()},
    }


def shared_task_faults(trainer: RunConfig, taker: RunConfig, folder: Path) -> list[str]:
    """From a first task that another run has trained equals from scratch, bit for bit."""
    run(trainer, first_tasks=FirstTasks(folder / "first"))
    taken = FirstTasks(folder / "first")
    got = final_state(taker, folder / "takes", taken)
    if not taken.is_taken:
        return ["a first task that was trained before must be taken, but was not"]
    wrong = differing(got, final_state(taker, folder / "scratch"))
    if not wrong:
        return []
    kind = vars(METHODS[taker.method["name"]]).get("first_task")
    return [
        f"first_task = {kind!r} must be true, but behind a first task of "
        f"'{trainer.method['name']}' the run comes to another {', '.join(wrong[:3])}"
    ]


def later_option_faults(config: RunConfig, option: str) -> list[str]:
    """An option of `later_options` does not change a bit of the first task."""
    values = other_values(config.method["name"], option)
    states = []
    for value in values:
        changed = {**config.model_dump(), "method": {**config.method, option: value}}
        first = _Memory()
        run(parse_run(changed), first_tasks=first)
        states.append(first)
    if not differing(*map(_trained, states)):
        return []
    return [
        f"`{option}` is in later_options, but the first task differs between {values[0]!r} and "
        f"{values[1]!r}: take it out"
    ]


class _Memory(FirstTasks):
    """Keeps what it is given, and has nothing to give."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.identity, self.state = "", dict[str, Any]()

    def load(self, identity: str) -> None:
        """Find nothing."""

    def save(self, identity: str, state: dict[str, Any]) -> None:
        """Remember it."""
        self.identity, self.state = identity, state


def _trained(first: _Memory) -> dict[str, Any]:
    """What the first task has come to, without what the method will do with it."""
    state = first.state
    network = {k: v for k, v in state["method"].items() if k.startswith("network.")}
    return {**network, "identity": first.identity, "curve": state["curve"], "rng": state["rng"]}


def other_values(name: str, option: str) -> list[Any]:
    """Two of the values that an option may have, the first its default."""
    method = METHODS[name]
    default = (method.__init__.__kwdefaults__ or {}).get(option)
    hint = typing.get_type_hints(method.__init__)[option]
    choices: list[Any] = [v for v in typing.get_args(hint) if isinstance(v, str)]
    choices += [True, False] if isinstance(default, bool) else []
    if choices:
        return [default, next(value for value in choices if value != default)]
    return [default, 50 if default is None else default / 2]
